import { setTimeout as delay } from 'node:timers/promises';
import {
  eventIdFromUuid,
  eventIdPrefix,
  externalUuid,
  facets,
  formatTimestamp,
  isUuid,
  type ListQuery,
  only,
  timestampOrNull,
  typeId,
} from '@indelible/protocol';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { requesterOf } from '../access/tenant-access.ts';
import { type TenantCall, TenantCalls } from '../access/tenant-calls.ts';
import type { Visibility } from '../events/filter-sql.store.ts';
import { getEvent, visibility } from '../events/store.ts';
import { answerPage, readPage } from '../http/keyset-page.ts';
import { AppError } from '../http/problem.ts';
import { listEvents } from '../list/list.store.ts';
import { whenceOf } from '../own-event.ts';
import type { Parts } from '../parts.ts';
import { readTenant, type TenantTx, type WriterTx, write } from '../postgres/db.ts';
import {
  fieldsOf,
  restoreBody,
  restoreEvent,
  restoreIdPrefix,
  whyNotRestorable,
} from './restore-call.ts';
import { getSchema, listSchema, requestSchema } from './schemas.ts';
import {
  getRestore,
  insertRestore,
  listRestores,
  pendingRestore,
  type RestoreRequest,
  type RestoreRow,
  restoreAddress,
} from './store.ts';

const outcomeWaitMs = 2_000;
const path = '/api/audit-logs/restores';

/** `POST /api/audit-logs/{id}/restore`, and the outcomes. */
export function restoreRoutes(app: FastifyInstance, parts: Parts): void {
  const kind = { lookedAt: 'restores', tag: 'Restore', scope: 'restore:write' } as const;
  const events = { path: '/api/audit-logs', idPrefix: eventIdPrefix, none: noEvent };
  new TenantCalls(app, parts, { ...kind, ...events }).on(
    'post /:id/restore',
    requestSchema,
    async (call) => {
      const asked = await prepare(call, parts);
      await write(parts.db, (tx) => insertAndRecord(tx, call.request, parts, asked));
      return shown(await outcomeSoon(parts, asked.request));
    },
  );
  const named = { path, idPrefix: restoreIdPrefix, none: noRestore };
  const restores = new TenantCalls(app, parts, { ...kind, ...named });
  restores.on('get /:id', getSchema, async ({ found }) => shown(await found(getRestore)));
  restores.onInput('get', listSchema, pageIn, ({ tenantId }, { resource, ...page }) => {
    const read = (from: string, max: number) =>
      readTenant(parts.db, tenantId, (tx) =>
        listRestores(tx, resourceOf(resource, tenantId), from, max),
      );
    return answerPage(page, read, (rows) => rows.map(shown));
  });
}

const noEvent = () => new AppError('not_found', 'there is no such event');
const noRestore = () => new AppError('not_found', 'there is no such restore');

const pageIn = (request: FastifyRequest) =>
  readPage(request, 'newest', ['resource', 'resource_id'], (reader) => {
    const { resource, resourceId } = facets;
    const type = reader.one('resource', resource.expected, resource.normalise) ?? null;
    const id = reader.one('resource_id', resourceId.expected, resourceId.normalise) ?? null;
    // An own id names a resource only together with its type.
    if (id !== null && !isUuid(id) && type === null)
      reader.refuse('resource_id', 'is an own id: name its type in `resource`');
    return { resource: { type, id } };
  });

/** The resource with its UUID in place of the host's own id. */
function resourceOf({ type, id }: { type: string | null; id: string | null }, tenantId: string) {
  return { type, id: id && externalUuid(tenantId, type ?? '', id) };
}

interface Asked {
  request: RestoreRequest;
  /** The call to the host product. */
  body: string;
}

/** Throws `not_found` for an invisible event, `conflict` for one that cannot be restored. */
function prepare({ request, access, id }: TenantCall, parts: Parts): Promise<Asked> {
  const { to: target, fields: names = null } = request.body as {
    to: RestoreRequest['target'];
    fields?: string[];
  };
  const eventId = id();
  return readTenant(parts.db, access.tenantId, async (tx) => {
    const visible = await visibility(tx, parts.now());
    const event = visible && (await getEvent(eventId, visible));
    if (!event) throw noEvent();
    const state = event[target];
    const fields = names && state && fieldsOf(state, names);
    const wanted = { state, fields, current: await currentState(visible, event) };
    const why = whyNotRestorable(wanted, names);
    if (why !== null) throw new AppError('conflict', why);
    await requireAddress(tx);
    const { resourceType, resourceId, resourceName } = event;
    const resource = { resourceType, resourceId, resourceName, eventUuid: event.uuid };
    const nowMs = parts.now();
    const own = { id: parts.newUuid(nowMs), requestedAtMs: nowMs };
    const asked = { ...requesterOf(access), ...own, ...resource, target, fields: names };
    return { request: asked, body: restoreBody(asked, event, wanted) };
  });
}

async function requireAddress(tx: TenantTx): Promise<void> {
  if ((await restoreAddress(tx)) !== null) return;
  throw new AppError(
    'conflict',
    'the tenant has no restoreUrl: set one with PUT /api/tenants/{id}',
  );
}

/** Request, job and record, or nothing. The rows come first: the log's head is locked last. */
async function insertAndRecord(
  tx: WriterTx,
  from: FastifyRequest,
  parts: Parts,
  { request, body }: Asked,
): Promise<void> {
  if (await insertRestore(tx, request, body)) {
    const { tenantId, id } = request;
    await parts.jobs.send(tx, 'restore', { id, data: { tenantId, id }, tenantId });
    const event = restoreEvent(request, { status: 'requested', reason: null }, whenceOf(from));
    await parts.recordOwn(tx, tenantId, event);
    return;
  }
  const pending = await pendingRestore(tx, request);
  // The other restore ended between the two reads, so this one may begin.
  if (pending === null) return insertAndRecord(tx, from, parts, { request, body });
  const id = typeId(restoreIdPrefix, pending);
  throw new AppError('conflict', `this restore is already pending: ${id}`, {
    headers: { location: `${path}/${id}` },
  });
}

/** The outcome if it comes soon: most hosts answer at once, so callers need not poll. */
async function outcomeSoon(parts: Parts, request: RestoreRequest): Promise<RestoreRow> {
  const enough = new AbortController();
  const { signal } = enough;
  const late = delay(outcomeWaitMs, undefined, { signal }).catch(() => {});
  await Promise.race([parts.jobs.tickFor('restore', request.id), late]).finally(() =>
    enough.abort(),
  );
  const row = await readTenant(parts.db, request.tenantId, (tx) => getRestore(tx, request.id));
  return row ?? { ...request, status: 'requested', reason: null, finishedAtMs: null };
}

function shown(row: RestoreRow) {
  return {
    id: typeId(restoreIdPrefix, row.id),
    status: row.status,
    reason: row.reason,
    eventId: eventIdFromUuid(row.eventUuid),
    to: row.target,
    fields: row.fields,
    requestedAt: formatTimestamp(row.requestedAtMs),
    finishedAt: timestampOrNull(row.finishedAtMs),
  };
}

const lookedAtMax = 20;

/**
 * The last state of a resource that a producer recorded, as canonical JSON text; null if its last
 * event deleted it, undefined if its latest events contain no state. A change that was denied or
 * failed left the resource as it was.
 */
async function currentState(
  visible: Visibility,
  { resourceType, resourceId }: { resourceType: string; resourceId: string },
): Promise<string | null | undefined> {
  const query: ListQuery = {
    filter: {
      resource: only(resourceType),
      resourceId: only(resourceId),
      outcome: { any: [], none: ['denied', 'failure'] },
    },
    sort: 'timestamp',
    order: 'desc',
    limit: lookedAtMax,
    include: { total: false, state: false },
  };
  const { rows } = await listEvents(query, visible, null);
  // The service's own records (mainly of restores) have other states.
  const latest = rows.find(
    ({ hasState, recordedByKind }) => hasState && recordedByKind !== 'service',
  );
  if (!latest) return undefined;
  const event = await getEvent(latest.uuid, visible);
  return event?.after;
}
