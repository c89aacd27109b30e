import { type AlertRuleSettings, formatTimestamp, parseTimestamp } from '@indelible/protocol';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { requireReads } from '../access/principal.ts';
import { type TenantCall, TenantCalls } from '../access/tenant-calls.ts';
import { invalid } from '../http/problem.ts';
import { logSize } from '../log/store.ts';
import type { Parts } from '../parts.ts';
import { readTenant } from '../postgres/db.ts';
import { unconfirmedIn } from '../tenants/mail-recipients.ts';
import {
  acknowledge,
  changeRule,
  createRule,
  muteRule,
  noRule,
  removeRule,
} from './change-rule.ts';
import { getCursor } from './cursor.store.ts';
import { allRules, ruleWith, settingsOf, shownRule } from './rule.ts';
import { type RulePatch, readRule } from './rule-input.ts';
import * as schemas from './schemas.ts';
import { listRules, type RuleKey, type RuleRow } from './store.ts';
import { runningTests, type TestRange, testedEvents, testRule } from './test-rule.ts';

export function alertRoutes(app: FastifyInstance, parts: Parts): void {
  const calls = new TenantCalls(app, parts, {
    lookedAt: 'alert-rules',
    path: '/api/alert-rules',
    tag: 'Alerts',
    scope: 'alerts:write',
    idPrefix: null,
    none: noRule,
  });
  testCalls(calls, parts);
  const shown = ({ tenantId }: TenantCall, row: RuleRow) =>
    readTenant(parts.db, tenantId, async (tx) => shownRule(row, await unconfirmedIn(tx)));
  calls.on('get', schemas.listSchema, ({ tenantId }) =>
    readTenant(parts.db, tenantId, async (tx) => {
      const [rules, cursor, size] = [await listRules(tx), await getCursor(tx), await logSize(tx)];
      const behind = cursor === null ? 0 : Math.max(0, size - cursor.nextSequence);
      const unconfirmed = await unconfirmedIn(tx);
      const data = allRules(tenantId, rules).map((rule) => shownRule(rule, unconfirmed));
      return { data, behind, lateSkipped: cursor?.lateSkipped ?? 0 };
    }),
  );
  calls.on('post', schemas.createSchema, async (call) => {
    const { access, request } = call;
    return shown(call, await createRule(parts, access.tenantId, request.body as RulePatch, access));
  });
  calls.on('get /:id', schemas.getSchema, async (call) => shown(call, await ruleIn(call)));
  calls.on('put /:id', schemas.changeSchema, async (call) => {
    const patch = call.request.body as RulePatch;
    return shown(call, await changeRule(parts, keyOf(call), patch, call.access));
  });
  calls.on('delete /:id', schemas.removeSchema, (call) =>
    removeRule(parts, keyOf(call), call.access),
  );
  calls.on('post /:id/mute', schemas.muteSchema, async (call) => {
    const { until } = call.request.body as { until: string | null };
    const untilMs = until === null ? null : parseTimestamp(until);
    return shown(call, await muteRule(parts, keyOf(call), untilMs, call.access));
  });
  calls.on('post /:id/acknowledge', schemas.acknowledgeSchema, async (call) => {
    const { alertId, note = null } = call.request.body as { alertId: string; note?: string };
    const acknowledgedAtMs = await acknowledge(parts, keyOf(call), alertId, note, call.access);
    return { alertId, acknowledgedAt: formatTimestamp(acknowledgedAtMs) };
  });
}

function testCalls(calls: TenantCalls, parts: Parts): void {
  const running = runningTests();
  const test = (call: TenantCall, settings: AlertRuleSettings, given: GivenRange) => {
    const range = readRange(call.request, given, parts);
    call.showsEvents(testedEvents(settings, call.tenantId, range));
    return testRule({ ...parts, running }, call.tenantId, settings, range, call.request.gone);
  };
  calls.on('post /test', schemas.testNewSchema, async (call) => {
    const { rule, ...range } = call.request.body as { rule: RulePatch } & GivenRange;
    return test(call, readRule(null, rule), range);
  });
  calls.on('post /:id/test', schemas.testSchema, async (call) =>
    test(call, settingsOf(await ruleIn(call)), call.request.body as GivenRange),
  );
}

const keyOf = ({ tenantId, id }: TenantCall): RuleKey => ({ tenantId, id: id() });

interface GivenRange {
  since: string;
  until?: string;
}

/** Throws `forbidden` without the right to read events, and `validation_failed`. */
function readRange(
  request: FastifyRequest,
  { since, until }: GivenRange,
  { now }: Parts,
): TestRange {
  requireReads(request);
  const sinceMs = parseTimestamp(since) ?? now();
  const untilMs = until === undefined ? now() : (parseTimestamp(until) ?? now());
  // The callers' clocks may be ahead.
  const inPast = (ms: number) => Math.min(ms, now());
  if (until === undefined || sinceMs < untilMs) {
    return { sinceMs: inPast(sinceMs), untilMs: inPast(untilMs) };
  }
  const message = 'must be before `until`';
  throw invalid([{ path: '/since', code: 'invalid_value', message }]);
}

/** A stored rule, or a built-in one as it is at first. */
const ruleIn = ({ tenantId, found }: TenantCall) =>
  found(async (tx, id) => ruleWith({ tenantId, id }, await listRules(tx)));
