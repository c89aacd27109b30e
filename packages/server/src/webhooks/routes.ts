import { fieldProblemsMax, formatTimestamp, pointerOf, uuidFromTypeId } from '@indelible/protocol';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { lookAt, type RecordAccess, readAsTenant } from '../access/index.ts';
import { AppError, answerPage, readPage } from '../http/index.ts';
import { logSize } from '../log/index.ts';
import type { Who } from '../own-event.ts';
import { readTenant } from '../postgres/index.ts';
import {
  type ChangeDeps,
  changeWebhook,
  createWebhook,
  noWebhook,
  pauseWebhook,
  removeWebhook,
  replayWebhook,
  resumeWebhook,
  rotateSecret,
} from './change-webhook.ts';
import { keptMs, lastDeliveries, listDeliveries } from './deliveries.store.ts';
import { isSigned } from './delivery-call.ts';
import { webhookIdPrefix } from './message-body.ts';
import * as schemas from './schemas.ts';
import { shownDelivery, shownWebhook } from './shown-webhook.ts';
import { getWebhook, listWebhooks, type WebhookKey, type WebhookRow } from './store.ts';
import { type TestDeps, testerOf } from './test-webhook.ts';
import type { WebhookPatch } from './webhook-input.ts';

export interface WebhookRouteDeps extends ChangeDeps, TestDeps {
  recordAccess: RecordAccess;
  /** Work is due. */
  wake: () => void;
}

const config = { scope: 'webhooks:write' as const, schema: 'enforced' as const };
const path = '/api/webhooks';

/** Webhooks: create, show, change, remove. */
export function webhookRoutes(app: FastifyInstance, deps: WebhookRouteDeps): void {
  app.get(path, { config, schema: schemas.listSchema }, (request) => {
    const page = readPage(request, 'newest');
    return readAsTenant(request, deps.recordAccess, lookAt('webhooks', request), ({ tenantId }) =>
      answerPage(
        page,
        (from, max) => readTenant(deps.db, tenantId, (tx) => listWebhooks(tx, from, max)),
        (rows) => showAll(deps, tenantId, rows),
      ),
    );
  });

  app.post(path, { config, schema: schemas.createSchema }, async (request, reply) => {
    requireReads(request);
    const shown = await readAsTenant(
      request,
      deps.recordAccess,
      lookAt('webhooks', request),
      async (access) => {
        const input = request.body as WebhookPatch;
        const { tenantId } = access;
        const made = await createWebhook(deps, tenantId, input, access);
        const webhook = await show(deps, made.webhook);
        return { ...webhook, ...(isSigned(made.webhook) ? { secret: made.secret } : {}) };
      },
    );
    return reply.code(201).send(shown);
  });

  app.get(`${path}/:id`, { config, schema: schemas.getSchema }, (request) =>
    onOne(request, deps, async (key) => show(deps, await requireWebhook(deps, key))),
  );

  app.patch(`${path}/:id`, { config, schema: schemas.changeSchema }, (request) => {
    const patch = request.body as WebhookPatch;
    // Otherwise a caller without the right to read could send the events to itself.
    if (Object.keys(patch).some((member) => member !== 'name')) requireReads(request);
    return onOne(request, deps, async (key, who) => {
      const changed = await changeWebhook(deps, key, patch, who);
      deps.wake();
      return show(deps, changed);
    });
  });

  app.delete(`${path}/:id`, { config, schema: schemas.removeSchema }, async (request, reply) => {
    await onOne(request, deps, (key, who) => removeWebhook(deps, key, who));
    return reply.code(204).send();
  });

  actionRoutes(app, deps);
}

/** Other actions on a webhook. */
function actionRoutes(app: FastifyInstance, deps: WebhookRouteDeps): void {
  const test = testerOf(deps);
  const alone = { config, preHandler: refuseMembers };

  app.post(`${path}/:id/pause`, { ...alone, schema: schemas.pauseSchema }, (request) =>
    onOne(request, deps, async (key, who) => show(deps, await pauseWebhook(deps, key, who))),
  );

  app.post(`${path}/:id/resume`, { ...alone, schema: schemas.resumeSchema }, (request) =>
    onOne(request, deps, async (key, who) => {
      const resumed = await resumeWebhook(deps, key, who);
      deps.wake();
      return show(deps, resumed);
    }),
  );

  app.post(`${path}/:id/secret`, { ...alone, schema: schemas.rotateSchema }, (request) =>
    onOne(request, deps, async (key, who) => {
      const { secret, previousValidUntilMs } = await rotateSecret(deps, key, who);
      return { secret, previousValidUntil: formatTimestamp(previousValidUntilMs) };
    }),
  );

  app.post(`${path}/:id/test`, { ...alone, schema: schemas.testSchema }, (request) =>
    onOne(request, deps, async (key, who) => test(await requireWebhook(deps, key), who)),
  );

  app.post(
    `${path}/:id/replay`,
    { config, schema: schemas.replaySchema },
    async (request, reply) => {
      requireReads(request);
      const { fromSequence } = request.body as { fromSequence: number };
      const shown = await onOne(request, deps, async (key, who) => {
        const replayed = await replayWebhook(deps, key, fromSequence, who);
        deps.wake();
        return show(deps, replayed);
      });
      return reply.code(202).send(shown);
    },
  );

  const listing = { config, schema: schemas.deliveriesSchema };
  app.get(`${path}/:id/deliveries`, listing, (request) => {
    const page = readPage(request, 'newest');
    return onOne(request, deps, async (key) => {
      await requireWebhook(deps, key);
      const since = deps.now() - keptMs;
      const read = (from: string, max: number) =>
        readTenant(deps.db, key.tenantId, (tx) => listDeliveries(tx, key.id, since, from, max));
      return answerPage(page, read, (rows) => rows.map(shownDelivery));
    });
  });
}

/** Throws `forbidden` unless the caller may read the events. */
function requireReads({ principal }: FastifyRequest): void {
  if (principal.scopes.has('events:read')) return;
  throw new AppError('forbidden', 'this needs the scope events:read too');
}

/** For calls without a body. Throws `validation_failed`. */
async function refuseMembers({ body }: FastifyRequest): Promise<void> {
  const members = typeof body === 'object' && body !== null ? Object.keys(body) : [];
  if (members.length === 0) return;
  const errors = members.slice(0, fieldProblemsMax).map((member) => {
    const message = 'is unknown: this call accepts no members';
    return { path: pointerOf(member), code: 'unknown_field', message };
  });
  throw new AppError('validation_failed', 'this call accepts no members', { errors });
}

/** Runs an operation on the webhook in the path. */
function onOne<T>(
  request: FastifyRequest,
  deps: WebhookRouteDeps,
  run: (key: WebhookKey, who: Who) => Promise<T>,
): Promise<T> {
  return readAsTenant(request, deps.recordAccess, lookAt('webhooks', request), async (access) => {
    const id = uuidFromTypeId(webhookIdPrefix, (request.params as { id: string }).id);
    if (id === null) throw noWebhook();
    return run({ tenantId: access.tenantId, id }, access);
  });
}

async function requireWebhook(
  { db }: WebhookRouteDeps,
  { tenantId, id }: WebhookKey,
): Promise<WebhookRow> {
  const row = await readTenant(db, tenantId, (tx) => getWebhook(tx, id));
  if (row) return row;
  throw noWebhook();
}

async function show(deps: WebhookRouteDeps, row: WebhookRow) {
  const [shown] = await showAll(deps, row.tenantId, [row]);
  if (!shown) throw noWebhook();
  return shown;
}

function showAll({ db, now }: WebhookRouteDeps, tenantId: string, rows: readonly WebhookRow[]) {
  return readTenant(db, tenantId, async (tx) => {
    const size = await logSize(tx);
    const ids = rows.map(({ id }) => id);
    const last = await lastDeliveries(tx, ids, now() - keptMs);
    return rows.map((row) => shownWebhook(row, size, last.get(row.id), now()));
  });
}
