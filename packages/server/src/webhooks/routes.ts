import {
  fieldProblemsMax,
  formatTimestamp,
  pointerOf,
  timestampOrNull as time,
  typeId,
} from '@indelible/protocol';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { requireReads } from '../access/principal.ts';
import { type TenantCall, TenantCalls } from '../access/tenant-calls.ts';
import { answerPage, readPage } from '../http/keyset-page.ts';
import { invalid } from '../http/problem.ts';
import { logSize } from '../log/store.ts';
import { readTenant } from '../postgres/db.ts';
import type { WebhookParts } from './attempt.ts';
import {
  changeWebhook,
  createWebhook,
  noWebhook,
  pauseWebhook,
  removeWebhook,
  replayWebhook,
  resumeWebhook,
  rotateSecret,
  skipTo,
} from './change-webhook.ts';
import { type DeliveryRow, keptMs, lastDeliveries, listDeliveries } from './deliveries.store.ts';
import { formats } from './formats.ts';
import { headerNames } from './own-headers.ts';
import * as schemas from './schemas.ts';
import {
  deliveryIdPrefix,
  getWebhook,
  listWebhooks,
  messageIdPrefix,
  type WebhookKey,
  type WebhookRow,
  webhookIdPrefix,
} from './store.ts';
import { testerOf } from './test-webhook.ts';
import type { WebhookPatch } from './webhook-input.ts';

interface RouteParts extends WebhookParts {
  /** Work is due. */
  wake: () => void;
}

export function webhookRoutes(app: FastifyInstance, parts: RouteParts): void {
  const calls = new TenantCalls(app, parts, {
    lookedAt: 'webhooks',
    path: '/api/webhooks',
    tag: 'Webhooks',
    scope: 'webhooks:write',
    idPrefix: webhookIdPrefix,
    none: noWebhook,
  });
  calls.list(schemas.listSchema, listWebhooks, (rows, tenantId) => showAll(parts, tenantId, rows));
  calls.onInput('post', schemas.createSchema, requireReads, async ({ access, request }) => {
    const made = await createWebhook(parts, access.tenantId, request.body as WebhookPatch, access);
    const webhook = await show(parts, made.webhook);
    return { ...webhook, ...(formats[webhook.format].isSigned ? { secret: made.secret } : {}) };
  });
  calls.on('get /:id', schemas.getSchema, async (call) =>
    show(parts, await call.found(getWebhook)),
  );
  calls.onInput('patch /:id', schemas.changeSchema, patchOf, async (call, patch) =>
    showDue(parts, await changeWebhook(parts, keyOf(call), patch, call.access)),
  );
  calls.on('delete /:id', schemas.removeSchema, async (call) =>
    removeWebhook(parts, keyOf(call), call.access),
  );
  actionCalls(calls, parts);
}

function actionCalls(calls: TenantCalls, parts: RouteParts): void {
  const test = testerOf(parts);
  calls.onInput('post /:id/pause', schemas.pauseSchema, refuseMembers, async (call) =>
    show(parts, await pauseWebhook(parts, keyOf(call), call.access)),
  );
  calls.onInput('post /:id/resume', schemas.resumeSchema, refuseMembers, async (call) =>
    showDue(parts, await resumeWebhook(parts, keyOf(call), call.access)),
  );
  calls.onInput('post /:id/secret', schemas.rotateSchema, refuseMembers, async (call) => {
    const { secret, previousValidUntilMs } = await rotateSecret(parts, keyOf(call), call.access);
    return { secret, previousValidUntil: formatTimestamp(previousValidUntilMs) };
  });
  calls.onInput('post /:id/test', schemas.testSchema, refuseMembers, async (call) =>
    test(await call.found(getWebhook), call.access),
  );
  calls.onInput('post /:id/replay', schemas.replaySchema, requireReads, async (call) => {
    const { fromSequence } = call.request.body as { fromSequence: number };
    return showDue(parts, await replayWebhook(parts, keyOf(call), fromSequence, call.access));
  });
  calls.onInput('post /:id/skip', schemas.skipSchema, requireReads, async (call) => {
    const skip = call.request.body as { toSequence: number; reason: string };
    return showDue(parts, await skipTo(parts, keyOf(call), skip, call.access));
  });
  const pageIn = (request: FastifyRequest) => readPage(request, 'newest');
  calls.onInput('get /:id/deliveries', schemas.deliveriesSchema, pageIn, async (call, page) => {
    const { id } = await call.found(getWebhook);
    const since = parts.now() - keptMs;
    const read = (from: string, max: number) =>
      readTenant(parts.db, call.tenantId, (tx) => listDeliveries(tx, id, since, from, max));
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

async function show(parts: RouteParts, row: WebhookRow) {
  const [shown] = await showAll(parts, row.tenantId, [row]);
  if (!shown) throw noWebhook();
  return shown;
}

/** A webhook whose next message may be due now. */
function showDue(parts: RouteParts, row: WebhookRow) {
  parts.wake();
  return show(parts, row);
}

function showAll({ db, now }: RouteParts, tenantId: string, rows: readonly WebhookRow[]) {
  return readTenant(db, tenantId, async (tx) => {
    const size = await logSize(tx);
    const ids = rows.map(({ id }) => id);
    const last = await lastDeliveries(tx, ids, now() - keptMs);
    return rows.map((row) => shownWebhook(row, size, last.get(row.id), now()));
  });
}

/** A webhook as the API shows it; `size` is that of the log. */
function shownWebhook(row: WebhookRow, size: number, last: DeliveryRow | undefined, nowMs: number) {
  const { previousSecretUntilMs: until, status, attempt, dueAtMs } = row;
  return {
    id: typeId(webhookIdPrefix, row.id),
    name: row.name,
    url: row.url,
    format: row.format,
    types: row.types,
    filters: JSON.parse(row.filters),
    options: JSON.parse(row.options),
    hasCredential: row.credential !== null,
    headerNames: headerNames(row),
    status,
    pausedBecause: row.pausedBecause,
    nextSequence: row.nextSequence,
    behind: Math.max(0, size - row.nextSequence),
    attempt,
    nextAttemptAt: status === 'active' && attempt > 0 ? time(dueAtMs) : null,
    lastDelivery: last ? shownDelivery(last) : null,
    previousSecretValidUntil: until !== null && until > nowMs ? time(until) : null,
    createdAt: time(row.createdAtMs),
    updatedAt: time(row.updatedAtMs),
  };
}

function shownDelivery(row: DeliveryRow) {
  const { type, status, attempt, firstSequence, lastSequence, events } = row;
  const { durationMs, responseStatus, response, reason } = row;
  return {
    id: typeId(deliveryIdPrefix, row.id),
    messageId: typeId(messageIdPrefix, row.messageId),
    type,
    status,
    attempt,
    firstSequence,
    lastSequence,
    events,
    at: time(row.atMs),
    durationMs,
    responseStatus,
    response,
    reason,
    nextAttemptAt: time(row.nextAttemptAtMs),
  };
}
