import { formatTimestamp, parseTimestamp } from '@indelible/protocol';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { lookAt, type RecordAccess, readAsTenant } from '../access/index.ts';
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
import { allRules, shownRule } from './rule.ts';
import type { RulePatch } from './rule-input.ts';
import * as schemas from './schemas.ts';
import { listRules, type RuleKey } from './store.ts';

export interface AlertRouteDeps extends ChangeDeps {
  recordAccess: RecordAccess;
}

const config = { scope: 'alerts:write' as const, schema: 'enforced' as const };
const path = '/api/alert-rules';

/** Alert rules: list, make, change, remove, mute; acknowledge an alert. */
export function alertRoutes(app: FastifyInstance, deps: AlertRouteDeps): void {
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
    onOne(request, deps, async ({ tenantId, id }) => {
      const rules = allRules(tenantId, await readTenant(db, tenantId, listRules));
      const found = rules.find((rule) => rule.id === id);
      if (!found) throw noRule();
      return shownRule(found);
    }),
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
