import { formatTimestamp, parseTimestamp } from '@indelible/protocol';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { lookAt, type RecordAccess, readAsTenant } from '../access/index.ts';
import { AppError } from '../http/index.ts';
import { logSize } from '../log/index.ts';
import type { Who } from '../own-event.ts';
import { readTenant } from '../postgres/index.ts';
import { acknowledge } from './acknowledge.ts';
import {
  type ChangeDeps,
  changeRule,
  createRule,
  muteRule,
  noRule,
  removeRule,
} from './change-rule.ts';
import { getCursor } from './cursor.store.ts';
import { allRules, settingsOf, shownRule } from './rule.ts';
import { type RulePatch, readRule } from './rule-input.ts';
import * as schemas from './schemas.ts';
import { listRules, type RuleKey, type RuleRow } from './store.ts';
import { type TestRange, testRule } from './test-rule.ts';

export interface AlertRouteDeps extends ChangeDeps {
  recordAccess: RecordAccess;
}

const config = { scope: 'alerts:write' as const, schema: 'enforced' as const };
const path = '/api/alert-rules';

/** Alert rules: list, make, change, remove, test, mute; acknowledge an alert. */
export function alertRoutes(app: FastifyInstance, deps: AlertRouteDeps): void {
  testRoutes(app, deps);
  const { db } = deps;

  app.get(path, { config, schema: schemas.listSchema }, (request) =>
    readAsTenant(request, deps.recordAccess, lookAt('alert-rules', request), ({ tenantId }) =>
      readTenant(db, tenantId, async (tx) => {
        const [rules, cursor, size] = [await listRules(tx), await getCursor(tx), await logSize(tx)];
        const behind = cursor === null ? 0 : Math.max(0, size - cursor.nextSequence);
        const data = allRules(tenantId, rules).map(shownRule);
        return { data, behind, lateSkipped: cursor?.lateSkipped ?? 0 };
      }),
    ),
  );

  app.post(path, { config, schema: schemas.createSchema }, async (request, reply) => {
    const input = request.body as RulePatch;
    const made = await readAsTenant(
      request,
      deps.recordAccess,
      lookAt('alert-rules', request),
      (access) => createRule(deps, access.tenantId, input, access),
    );
    return reply.code(201).send(shownRule(made));
  });

  app.get(`${path}/:id`, { config, schema: schemas.getSchema }, (request) =>
    onOne(request, deps, async (key) => shownRule(await requireRule(deps, key))),
  );

  app.put(`${path}/:id`, { config, schema: schemas.changeSchema }, (request) =>
    onOne(request, deps, async (key, who) =>
      shownRule(await changeRule(deps, key, request.body as RulePatch, who)),
    ),
  );

  app.delete(`${path}/:id`, { config, schema: schemas.removeSchema }, async (request, reply) => {
    await onOne(request, deps, (key, who) => removeRule(deps, key, who));
    return reply.code(204).send();
  });

  app.post(`${path}/:id/mute`, { config, schema: schemas.muteSchema }, (request) => {
    const { until } = request.body as { until: string | null };
    const untilMs = until === null ? null : parseTimestamp(until);
    return onOne(request, deps, async (key, who) =>
      shownRule(await muteRule(deps, key, untilMs, who)),
    );
  });

  app.post(`${path}/:id/acknowledge`, { config, schema: schemas.acknowledgeSchema }, (request) => {
    const { alertId, note = null } = request.body as { alertId: string; note?: string };
    return onOne(request, deps, async (key, who) => {
      const acknowledgedAtMs = await acknowledge(deps, key, alertId, note, who);
      return { alertId, acknowledgedAt: formatTimestamp(acknowledgedAtMs) };
    });
  });
}

/** Tests of rules: also those that do not exist yet. */
function testRoutes(app: FastifyInstance, deps: AlertRouteDeps): void {
  const testing = { config: { ...config, reads: 'search' as const } };

  app.post(`${path}/test`, { ...testing, schema: schemas.testNewSchema }, (request) => {
    const { rule, ...range } = request.body as { rule: RulePatch } & GivenRange;
    return readAsTenant(request, deps.recordAccess, lookAt('alert-rules', request), (access) =>
      testRule(
        deps,
        access.tenantId,
        readRule(null, rule),
        readRange(request, range, deps),
        request.gone,
      ),
    );
  });

  app.post(`${path}/:id/test`, { ...testing, schema: schemas.testSchema }, (request) =>
    onOne(request, deps, async (key) => {
      const settings = settingsOf(await requireRule(deps, key));
      const range = readRange(request, request.body as GivenRange, deps);
      return testRule(deps, key.tenantId, settings, range, request.gone);
    }),
  );
}

interface GivenRange {
  since: string;
  until?: string;
}

/** Throws `forbidden` without the right to read events, and `validation_failed`. */
function readRange(
  { principal }: FastifyRequest,
  { since, until }: GivenRange,
  { now }: AlertRouteDeps,
): TestRange {
  if (!principal.scopes.has('events:read')) {
    throw new AppError('forbidden', 'this needs the scope events:read too');
  }
  const sinceMs = parseTimestamp(since) ?? now();
  const untilMs = until === undefined ? now() : (parseTimestamp(until) ?? now());
  // The callers' clocks may be ahead.
  const inPast = (ms: number) => Math.min(ms, now());
  if (until === undefined || sinceMs < untilMs) {
    return { sinceMs: inPast(sinceMs), untilMs: inPast(untilMs) };
  }
  const message = 'must be before `until`';
  const errors = [{ path: '/since', code: 'invalid_value', message }];
  throw new AppError('validation_failed', `/since ${message}`, { errors });
}

async function requireRule({ db }: AlertRouteDeps, { tenantId, id }: RuleKey): Promise<RuleRow> {
  const rules = allRules(tenantId, await readTenant(db, tenantId, listRules));
  const found = rules.find((rule) => rule.id === id);
  if (found) return found;
  throw noRule();
}

/** Runs an operation on the rule in the path. */
function onOne<T>(
  request: FastifyRequest,
  deps: AlertRouteDeps,
  run: (key: RuleKey, who: Who) => Promise<T>,
): Promise<T> {
  return readAsTenant(request, deps.recordAccess, lookAt('alert-rules', request), (access) => {
    const { id } = request.params as { id: string };
    return run({ tenantId: access.tenantId, id: id.toLowerCase() }, access);
  });
}
