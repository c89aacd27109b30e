import { fieldProblemsMax, formatTimestamp, pointerOf } from '@indelible/protocol';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { RecordAccess } from '../access/record-looks.ts';
import { type TenantCall, TenantCalls } from '../access/tenant-calls.ts';
import { answerPage, readPage } from '../http/keyset-page.ts';
import { AppError, invalid } from '../http/problem.ts';
import { logSize } from '../log/store.ts';
import { readTenant } from '../postgres/db.ts';
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
import { formats } from './formats.ts';
import { webhookIdPrefix } from './ids.ts';
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

/** Webhooks: create, show, change, remove. */
export function webhookRoutes(app: FastifyInstance, deps: WebhookRouteDeps): void {
  const calls = new TenantCalls(app, deps, {
    ...{ lookedAt: 'webhooks', path: '/api/webhooks', tag: 'Webhooks', scope: 'webhooks:write' },
    ...{ idPrefix: webhookIdPrefix, none: noWebhook },
  });
  calls.list(schemas.listSchema, listWebhooks, (rows, tenantId) => showAll(deps, tenantId, rows));
  calls.onInput('post', schemas.createSchema, requireReads, async ({ access, request }) => {
    const made = await createWebhook(deps, access.tenantId, request.body as WebhookPatch, access);
    const webhook = await show(deps, made.webhook);
    return { ...webhook, ...(formats[webhook.format].isSigned ? { secret: made.secret } : {}) };
  });
  calls.on('get /:id', schemas.getSchema, async (call) => show(deps, await call.found(getWebhook)));
  calls.onInput('patch /:id', schemas.changeSchema, patchOf, async (call, patch) =>
    showDue(deps, await changeWebhook(deps, keyOf(call), patch, call.access)),
  );
  calls.on('delete /:id', schemas.removeSchema, async (call) =>
    removeWebhook(deps, keyOf(call), call.access),
  );
  actionCalls(calls, deps);
}

/** Other actions on a webhook. */
function actionCalls(calls: TenantCalls, deps: WebhookRouteDeps): void {
  const test = testerOf(deps);
  calls.onInput('post /:id/pause', schemas.pauseSchema, refuseMembers, async (call) =>
    show(deps, await pauseWebhook(deps, keyOf(call), call.access)),
  );
  calls.onInput('post /:id/resume', schemas.resumeSchema, refuseMembers, async (call) =>
    showDue(deps, await resumeWebhook(deps, keyOf(call), call.access)),
  );
  calls.onInput('post /:id/secret', schemas.rotateSchema, refuseMembers, async (call) => {
    const { secret, previousValidUntilMs } = await rotateSecret(deps, keyOf(call), call.access);
    return { secret, previousValidUntil: formatTimestamp(previousValidUntilMs) };
  });
  calls.onInput('post /:id/test', schemas.testSchema, refuseMembers, async (call) =>
    test(await call.found(getWebhook), call.access),
  );
  calls.onInput('post /:id/replay', schemas.replaySchema, requireReads, async (call) => {
    const { fromSequence } = call.request.body as { fromSequence: number };
    return showDue(deps, await replayWebhook(deps, keyOf(call), fromSequence, call.access));
  });
  const pageIn = (request: FastifyRequest) => readPage(request, 'newest');
  calls.onInput('get /:id/deliveries', schemas.deliveriesSchema, pageIn, async (call, page) => {
    const { id } = await call.found(getWebhook);
    const since = deps.now() - keptMs;
    const read = (from: string, max: number) =>
      readTenant(deps.db, call.tenantId, (tx) => listDeliveries(tx, id, since, from, max));
    return answerPage(page, read, (rows) => rows.map(shownDelivery));
  });
}

const keyOf = ({ tenantId, id }: TenantCall): WebhookKey => ({ tenantId, id: id() });

function patchOf(request: FastifyRequest): WebhookPatch {
  const patch = request.body as WebhookPatch;
  // Otherwise a caller without the right to read could send the events to itself.
  if (Object.keys(patch).some((member) => member !== 'name')) requireReads(request);
  return patch;
}

/** Throws `forbidden` unless the caller may read the events. */
function requireReads({ principal }: FastifyRequest): void {
  if (principal.scopes.has('events:read')) return;
  throw new AppError('forbidden', 'this needs the scope events:read too');
}

/** For calls without a body. Throws `validation_failed`. */
function refuseMembers({ body }: FastifyRequest): void {
  const members = typeof body === 'object' && body !== null ? Object.keys(body) : [];
  if (members.length === 0) return;
  const errors = members.slice(0, fieldProblemsMax).map((member) => {
    const message = 'is unknown: this call accepts no members';
    return { path: pointerOf(member), code: 'unknown_field', message };
  });
  throw invalid(errors, 'this call accepts no members');
}

async function show(deps: WebhookRouteDeps, row: WebhookRow) {
  const [shown] = await showAll(deps, row.tenantId, [row]);
  if (!shown) throw noWebhook();
  return shown;
}

/** A webhook whose next message may be due now. */
function showDue(deps: WebhookRouteDeps, row: WebhookRow) {
  deps.wake();
  return show(deps, row);
}

function showAll({ db, now }: WebhookRouteDeps, tenantId: string, rows: readonly WebhookRow[]) {
  return readTenant(db, tenantId, async (tx) => {
    const size = await logSize(tx);
    const ids = rows.map(({ id }) => id);
    const last = await lastDeliveries(tx, ids, now() - keptMs);
    return rows.map((row) => shownWebhook(row, size, last.get(row.id), now()));
  });
}
