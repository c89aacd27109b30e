import { formatTimestamp, futureMsMax, uuidTimeMs, webhooksMax } from '@indelible/protocol';
import { visibility } from '../events/store.ts';
import { AppError } from '../http/problem.ts';
import { firstReceivedSince } from '../log/received-since.ts';
import { logSize } from '../log/store.ts';
import { newSecret } from '../outbound/standard-webhooks.ts';
import { actOf, type OwnEvent, type Who } from '../own-event.ts';
import { readTenant, type WriterTx, write } from '../postgres/db.ts';
import { tenantExists } from '../tenants/store.ts';
import type { WebhookParts } from './attempt.ts';
import { formats } from './formats.ts';
import { headerNames } from './own-headers.ts';
import { sealCredential, sealHeaders, secretContext } from './sealed-secrets.ts';
import {
  countWebhooks,
  deleteWebhook,
  insertWebhook,
  lockWebhook,
  saveWebhook,
  type WebhookKey,
  type WebhookRow,
} from './store.ts';
import { changedEvent, pausedEvent, resource } from './webhook-event.ts';
import { newcomer, readSettings, type WebhookPatch } from './webhook-input.ts';
import { changedTo, startedAnew } from './webhook-state.ts';

const previousValidMs = 24 * 3_600_000;

export const noWebhook = () => new AppError('not_found', 'there is no such webhook');

/**
 * Creates a webhook that starts after the record of its creation. Throws `validation_failed`,
 * `not_found` for an unknown tenant, and `conflict` if the tenant has 20 or is offboarded.
 */
export async function createWebhook(
  { db, now, sealer, recordOwn, newUuid, allowPrivate }: WebhookParts,
  tenantId: string,
  input: WebhookPatch,
  who: Who,
): Promise<{ webhook: WebhookRow; secret: string }> {
  const { settings, credential, headers } = readSettings(newcomer, input, allowPrivate);
  const createdAtMs = now();
  const id = newUuid(createdAtMs);
  const secret = newSecret();
  const to = { id, url: settings.url };
  const made = {
    tenantId,
    id,
    ...settings,
    createdAtMs,
    secret: sealer.seal(secretContext(id), secret),
    credential: credential ? sealCredential(sealer, to, credential) : null,
    headers: sealHeaders(sealer, { ...to, headers: '{}' }, headers),
  };
  const webhook = await write(db, async (tx) => {
    if (!(await tenantExists(tx, tenantId))) throw new AppError('not_found', 'no such tenant');
    // First, for its lock: concurrent creations of the twentieth run one after the other.
    await recordOwn(tx, tenantId, changedEvent(who, null, made));
    if ((await countWebhooks(tx, tenantId)) >= webhooksMax) {
      throw new AppError('conflict', `a tenant has at most ${webhooksMax} webhooks`);
    }
    const inserted = await insertWebhook(tx, made);
    if (!inserted)
      throw new AppError('conflict', 'the tenant was offboarded: no webhooks can be added');
    return inserted;
  });
  return { webhook, secret };
}

/** Does not record a call that changes nothing. Throws `not_found` and `validation_failed`. */
export function changeWebhook(
  parts: WebhookParts,
  key: WebhookKey,
  patch: WebhookPatch,
  who: Who,
): Promise<WebhookRow> {
  const { now, sealer, allowPrivate } = parts;
  return changeLocked(parts, key, (row) => {
    const names = headerNames(row);
    const former = { ...row, hasCredential: row.credential !== null, headerNames: names };
    const { settings, credential, headers } = readSettings(former, patch, allowPrivate);
    const to = { ...row, url: settings.url };
    const renewed = credential ? sealCredential(sealer, to, credential) : null;
    const sealed = {
      credential: credential === undefined ? row.credential : renewed,
      headers: sealHeaders(sealer, to, headers),
    };
    const changed = changedTo(row, settings, sealed, now());
    const event = changedEvent(who, row, changed);
    const isSame = JSON.stringify(event.before) === JSON.stringify(event.after);
    return isSame && !credential ? null : { changed, event };
  });
}

/** Throws `not_found`. */
export function removeWebhook(
  { db, recordOwn }: WebhookParts,
  key: WebhookKey,
  who: Who,
): Promise<void> {
  return write(db, async (tx) => {
    const row = await locked(tx, key);
    await deleteWebhook(tx, key);
    await recordOwn(tx, key.tenantId, changedEvent(who, row, null));
  });
}

/** No effect if it is paused already. Throws `not_found`. */
export function pauseWebhook(parts: WebhookParts, key: WebhookKey, who: Who): Promise<WebhookRow> {
  return changeLocked(parts, key, (row) => {
    if (row.status === 'paused') return null;
    // Keeps the due message: delivery continues with it.
    const changed: WebhookRow = { ...row, status: 'paused', pausedBecause: 'requested' };
    return { changed, event: pausedEvent(row, who, 'requested') };
  });
}

/** Resumes a webhook: a pending retry starts at once with all attempts. Throws `not_found`. */
export function resumeWebhook(parts: WebhookParts, key: WebhookKey, who: Who): Promise<WebhookRow> {
  return changeLocked(parts, key, (row) => {
    if (row.status === 'active' && row.attempt === 0) return null;
    const active = { status: 'active', pausedBecause: null } as const;
    const diff = { status: { from: row.status, to: active.status } };
    const changed = { ...row, ...active, attempt: 0, dueAtMs: parts.now() };
    return { changed, event: actOf(who, 'resume', resource(row), { diff }) };
  });
}

/** Throws `not_found`, and `conflict` for a format without signatures. */
export async function rotateSecret(
  parts: WebhookParts,
  key: WebhookKey,
  who: Who,
): Promise<{ secret: string; previousValidUntilMs: number }> {
  const { now, sealer } = parts;
  const secret = newSecret();
  let previousValidUntilMs = 0;
  await changeLocked(parts, key, (row) => {
    if (!formats[row.format].isSigned) {
      throw new AppError('conflict', `messages of the format ${row.format} are not signed`);
    }
    previousValidUntilMs = now() + previousValidMs;
    const changed = {
      ...row,
      secret: sealer.seal(secretContext(row.id), secret),
      previousSecret: row.secret,
      previousSecretUntilMs: previousValidUntilMs,
    };
    const after = { previousValidUntil: formatTimestamp(previousValidUntilMs) };
    return { changed, event: actOf(who, 'rotate', resource(row), { after }) };
  });
  return { secret, previousValidUntilMs };
}

/**
 * Back to this sequence, or to the first event that the plan shows. Throws `not_found`, and
 * `conflict` for a sequence that is not before the webhook's position.
 */
export async function replayWebhook(
  parts: WebhookParts,
  key: WebhookKey,
  fromSequence: number,
  who: Who,
): Promise<WebhookRow> {
  const { db, now } = parts;
  const first = await readTenant(db, key.tenantId, async (tx) => {
    const visible = await visibility(tx, now());
    if (!visible) return 0;
    // An event's time may be ahead of its receipt.
    return firstReceivedSince(tx, uuidTimeMs(visible.oldest) - futureMsMax, visible.size);
  });
  return changeLocked(parts, key, (row) => {
    const position = row.nextSequence;
    if (fromSequence >= position) {
      const detail = `nothing to replay: the next event to send is ${position}; name an earlier one`;
      throw new AppError('conflict', detail);
    }
    const nextSequence = Math.max(first, fromSequence);
    if (nextSequence >= position) {
      throw new AppError('conflict', 'the plan shows no event between this one and the position');
    }
    const diff = { nextSequence: { from: position, to: nextSequence } };
    const changed = { ...startedAnew(row, now()), nextSequence, announcedSequence: -1 };
    return { changed, event: actOf(who, 'replay', resource(row), { diff }) };
  });
}

/**
 * Forward to this sequence: the events before it are never sent, unless they are replayed. Throws
 * `not_found`, and `conflict` for a sequence that is not ahead, or beyond the end of the log.
 */
export async function skipTo(
  parts: WebhookParts,
  key: WebhookKey,
  { toSequence, reason }: { toSequence: number; reason: string },
  who: Who,
): Promise<WebhookRow> {
  const size = await readTenant(parts.db, key.tenantId, logSize);
  return changeLocked(parts, key, (row) => {
    const position = row.nextSequence;
    if (toSequence <= position || toSequence > size) {
      const range = position < size ? `name one from ${position + 1} to ${size}` : 'nothing waits';
      const detail = `the next event to send is ${position}, the log has ${size} entries: ${range}`;
      throw new AppError('conflict', detail);
    }
    const diff = { nextSequence: { from: position, to: toSequence } };
    const changed = { ...startedAnew(row, parts.now()), nextSequence: toSequence };
    return { changed, event: actOf(who, 'skip', resource(row), { diff, after: { reason } }) };
  });
}

/** Stores what `change` makes of the locked webhook, with its record; null changes nothing. */
function changeLocked(
  { db, now, recordOwn }: WebhookParts,
  key: WebhookKey,
  change: (row: WebhookRow) => { changed: WebhookRow; event: OwnEvent } | null,
): Promise<WebhookRow> {
  return write(db, async (tx) => {
    const row = await locked(tx, key);
    const made = change(row);
    if (made === null) return row;
    const changed = { ...made.changed, updatedAtMs: now() };
    await saveWebhook(tx, changed);
    await recordOwn(tx, key.tenantId, made.event);
    return changed;
  });
}

async function locked(tx: WriterTx, key: WebhookKey): Promise<WebhookRow> {
  const row = await lockWebhook(tx, key);
  if (row) return row;
  throw noWebhook();
}
