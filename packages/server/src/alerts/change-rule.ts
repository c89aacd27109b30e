import {
  type AlertNotify,
  nilUuid,
  pointerOf,
  uuidFromEventId,
  uuidFromTypeId,
  uuidTimeMs,
} from '@indelible/protocol';
import { getEvent, visibility } from '../events/store.ts';
import { AppError, invalid } from '../http/problem.ts';
import { lockHeads, logSize } from '../log/store.ts';
import type { Who } from '../own-event.ts';
import type { Parts } from '../parts.ts';
import { readTenant, tenantIn, type WriterTx, write } from '../postgres/db.ts';
import { askToConfirm } from '../tenants/mail-recipients.ts';
import { webhookIdPrefix, webhooksTakingAlerts } from '../webhooks/store.ts';
import { acknowledgedEvent, changedEvent, mutedEvent } from './alert-event.ts';
import { closeCursor, openCursor } from './cursor.store.ts';
import { dayMs, minuteMs } from './evaluate.ts';
import { newRule, ruleWith, settingsOf, watchOf } from './rule.ts';
import { type RulePatch, readRule } from './rule-input.ts';
import {
  acknowledgedAt,
  deleteRule,
  listRules,
  type RuleKey,
  type RuleRow,
  saveRule,
} from './store.ts';

const rulesMax = 100;
const mutedMsMax = 90 * dayMs;

export const noRule = () => new AppError('not_found', 'there is no such alert rule');

/** Throws `validation_failed`, `not_found` for an unknown tenant, and `conflict` if it has 100. */
export async function createRule(
  parts: Parts,
  tenantId: string,
  { enabled = true, ...patch }: RulePatch,
  who: Who,
): Promise<RuleRow> {
  const settings = readRule(null, patch);
  const rule = newRule(tenantId, parts.newUuid(parts.now()), settings, enabled);
  return changing(parts, tenantId, async (tx, rules) => {
    if (rules.filter(({ builtIn }) => builtIn === null).length >= rulesMax) {
      throw new AppError('conflict', `a tenant has at most ${rulesMax} alert rules of its own`);
    }
    await refuseUnknownWebhooks(tx, tenantId, settings.notify);
    await parts.recordOwn(tx, tenantId, changedEvent(who, null, rule));
    await askToConfirm(parts, tx, tenantId, settings.notify.emails ?? []);
    return saveVersion(tx, parts.now(), null, rule);
  });
}

/** A call that changes nothing leaves no record. Throws `not_found` and `validation_failed`. */
export function changeRule(
  parts: Parts,
  key: RuleKey,
  { enabled, ...patch }: RulePatch,
  who: Who,
): Promise<RuleRow> {
  return changing(parts, key.tenantId, async (tx, rules) => {
    const row = present(rules, key);
    refuseFixed(row, patch);
    const settings = JSON.stringify(readRule(settingsOf(row), patch));
    const changed = { ...row, settings, enabled: enabled ?? row.enabled };
    if (changed.settings === row.settings && changed.enabled === row.enabled) return row;
    await refuseUnknownWebhooks(tx, key.tenantId, patch.notify ?? {}, settingsOf(row).notify);
    await parts.recordOwn(tx, key.tenantId, changedEvent(who, row, changed));
    await askToConfirm(parts, tx, key.tenantId, patch.notify?.emails ?? []);
    return saveVersion(tx, parts.now(), row, changed);
  });
}

/** A webhook that the rule named before may have been removed since: it is not checked again. */
async function refuseUnknownWebhooks(
  tx: WriterTx,
  tenantId: string,
  { webhookIds = [] }: AlertNotify,
  { webhookIds: former = [] }: AlertNotify = {},
): Promise<void> {
  const added = webhookIds.filter((id) => !former.includes(id));
  if (added.length === 0) return;
  const uuids = added.map((id) => uuidFromTypeId(webhookIdPrefix, id) ?? nilUuid);
  const known = await webhooksTakingAlerts(tx, tenantId, uuids);
  const errors = added.flatMap((id, n) => {
    if (known.includes(uuids[n] ?? '')) return [];
    const path = pointerOf('notify', 'webhookIds', webhookIds.indexOf(id));
    const message = 'is not a webhook of this tenant with the type audit.alert.raised';
    return [{ path, code: 'invalid_value' as const, message }];
  });
  if (errors.length > 0) throw invalid(errors);
}

const fixed = ['name', 'kind', 'filters', 'groupBy', 'followedBy'] as const;

function refuseFixed({ builtIn }: RuleRow, patch: RulePatch): void {
  const given = builtIn === null ? [] : fixed.filter((member) => patch[member] !== undefined);
  if (given.length === 0) return;
  const errors = given.map((member) => {
    const message = 'is fixed for a built-in rule: make a rule of your own';
    return { path: `/${member}`, code: 'invalid_value', message };
  });
  throw invalid(errors, `${given.join(', ')} of a built-in rule are fixed`);
}

/** Throws `not_found`. */
export function removeRule(parts: Parts, key: RuleKey, who: Who): Promise<void> {
  return changing(parts, key.tenantId, async (tx, rules) => {
    const row = present(rules, key);
    if (row.version === 0) return;
    await deleteRule(tx, key);
    await parts.recordOwn(tx, key.tenantId, changedEvent(who, row, null));
  });
}

/** Throws `not_found`, and `validation_failed` for a time that is past or too far away. */
export function muteRule(
  parts: Parts,
  key: RuleKey,
  untilMs: number | null,
  who: Who,
): Promise<RuleRow> {
  const nowMs = parts.now();
  if (untilMs !== null && (untilMs <= nowMs || untilMs > nowMs + mutedMsMax)) {
    const message = 'must be a moment of the next 90 days';
    throw invalid([{ path: '/until', code: 'invalid_value', message }]);
  }
  return changing(parts, key.tenantId, async (tx, rules) => {
    const row = present(rules, key);
    if (row.mutedUntilMs === untilMs) return row;
    // A built-in rule that was never switched on has no alerts to mute.
    if (row.version === 0) throw new AppError('conflict', 'the rule is not switched on');
    await parts.recordOwn(tx, key.tenantId, mutedEvent(who, row, untilMs));
    const told = untilMs === null ? {} : { untold: [], tellAtMs: null };
    const muted = { ...row, ...told, mutedUntilMs: untilMs };
    await saveRule(tx, muted);
    return muted;
  });
}

function present(rules: readonly RuleRow[], key: RuleKey): RuleRow {
  const found = ruleWith(key, rules);
  if (found) return found;
  throw noRule();
}

/**
 * Changes rules under the lock of the log's head, which evaluation takes too: no alert is raised by
 * the former settings afterwards.
 */
function changing<R>(
  { db, now }: Parts,
  tenantId: string,
  change: (tx: WriterTx, rules: readonly RuleRow[]) => Promise<R>,
): Promise<R> {
  return write(db, async (tx) => {
    const [head] = await lockHeads(tx, [tenantId], true);
    if (!head) throw new AppError('not_found', 'no such tenant');
    if (head.isClosed) throw new AppError('conflict', 'the tenant was offboarded or abandoned');
    const result = await change(tx, await listRules(tenantIn(tx, tenantId)));
    const left = await listRules(tenantIn(tx, tenantId));
    if (left.some(({ enabled }) => enabled)) await openCursor(tx, tenantId, now());
    else await closeCursor(tx, tenantId);
    return result;
  });
}

/** Stores a new version; it begins anew unless it evaluates as before. The change is recorded. */
async function saveVersion(
  tx: WriterTx,
  nowMs: number,
  former: RuleRow | null,
  changed: RuleRow,
): Promise<RuleRow> {
  const { version, createdAtMs } = changed;
  const times = { createdAtMs: version === 0 ? nowMs : createdAtMs, updatedAtMs: nowMs };
  const row = { ...changed, ...times, version: version + 1 };
  const isSame = former?.enabled === row.enabled && watchOf(former) === watchOf(row);
  const { kind, windowMinutes = 0 } = settingsOf(row);
  const isWatching = row.enabled && kind === 'silence';
  const begun = {
    fromSequence: await logSize(tenantIn(tx, row.tenantId)),
    dropped: 0,
    silentAtMs: isWatching ? nowMs + windowMinutes * minuteMs : null,
    ...(row.enabled ? {} : { untold: [], tellAtMs: null }),
  };
  const saved = isSame ? row : { ...row, ...begun };
  await saveRule(tx, saved);
  return saved;
}

/**
 * Records who acknowledges the alert, once. Returns when it was acknowledged first. Throws
 * `not_found` for another rule's alert, and for one that the plan does not show any more.
 */
export async function acknowledge(
  { db, now, recordOwn }: Parts,
  key: RuleKey,
  alertId: string,
  note: string | null,
  who: Who,
): Promise<number> {
  const { tenantId, id } = key;
  const uuid = uuidFromEventId(alertId);
  const { rule, isAlert } = await readTenant(db, tenantId, async (tx) => {
    const visible = await visibility(tx, now());
    const event = uuid && visible ? await getEvent(uuid, visible) : null;
    const isAlert =
      event?.recordedByKind === 'service' && event.action === 'raise' && event.resourceId === id;
    return { isAlert, rule: ruleWith(key, await listRules(tx)) };
  });
  if (!rule) throw noRule();
  if (!isAlert || uuid === null) throw new AppError('not_found', 'there is no such alert');
  return write(db, async (tx) => {
    // Two people who acknowledge at the same moment leave one record.
    await lockHeads(tx, [tenantId], true);
    const before = await acknowledgedAt(tx, tenantId, alertId);
    if (before !== null) return uuidTimeMs(before);
    await recordOwn(tx, tenantId, acknowledgedEvent(who, rule, alertId, note));
    const recorded = await acknowledgedAt(tx, tenantId, alertId);
    return recorded === null ? now() : uuidTimeMs(recorded);
  });
}
