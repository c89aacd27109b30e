import { isDeepStrictEqual } from 'node:util';
import {
  type FieldProblem,
  filterToJson,
  formatTimestamp,
  panelRoot,
  typeId,
} from '@indelible/protocol';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { TenantAccess } from '../access/tenant-access.ts';
import { TenantCalls } from '../access/tenant-calls.ts';
import { filterOfBody } from '../http/filter-body.ts';
import { AppError } from '../http/problem.ts';
import { changedBy, type RecordOwn } from '../own-event.ts';
import type { Parts } from '../parts.ts';
import { type WriterTx, write } from '../postgres/db.ts';
import { lockTenant } from '../tenants/store.ts';
import * as schemas from './view-schemas.ts';
import {
  countViews,
  deleteView,
  getView,
  insertView,
  listViews,
  lockView,
  updateView,
  type ViewRow,
  type ViewSettings,
} from './views.store.ts';

const viewIdPrefix = 'view_';

/** Live views: searches under a name, of a person or of the tenant. */
export function viewRoutes(app: FastifyInstance, parts: Parts): void {
  const views = new TenantCalls(app, parts, {
    lookedAt: 'views',
    path: '/api/views',
    tag: 'Views',
    scope: 'events:read',
    idPrefix: viewIdPrefix,
    none: noView,
    judgesBodies: true,
  });
  const shown = (view: ViewRow) => shownView(view, parts.publicUrl());

  views.list(
    schemas.listViewsSchema,
    (tx, from, max, { actor }) => listViews(tx, from, max, actor.id),
    (rows) => rows.map(shown),
  );
  views.onInput('post', schemas.createViewSchema, readSettings, async ({ access }, settings) =>
    shown(await createView(parts, access, settings)),
  );
  views.on('get /:id', schemas.getViewSchema, async ({ access: { actor }, found }) =>
    shown(await found((tx, id) => getView(tx, id, actor.id))),
  );
  views.onInput('put /:id', schemas.putViewSchema, readSettings, async ({ access, id }, settings) =>
    shown(await changeView(parts, access, id(), settings)),
  );
  views.on('delete /:id', schemas.deleteViewSchema, async ({ access, id }) =>
    removeView(parts, access, id()),
  );
}

/** Throws `validation_failed` with every problem of the body. */
function readSettings(request: FastifyRequest): ViewSettings {
  const { last = null, filters } = (request.body ?? {}) as Partial<schemas.ViewInput>;
  const hasTimes = Object.keys(filters ?? {}).some((name) => name === 'from' || name === 'to');
  const message = 'is not allowed beside `from` or `to` in the filters: choose one of them';
  const problem: FieldProblem = { path: '/last', code: 'invalid_value', message };
  const filter = filterOfBody(request, last !== null && hasTimes ? [problem] : []);
  const { name, columns = null, shared } = request.body as schemas.ViewInput;
  return { name, filters: JSON.stringify(filterToJson(filter)), last, columns, shared };
}

function shownView(view: ViewRow, publicUrl: string) {
  const { name, filters, last, columns, shared } = view;
  const id = typeId(viewIdPrefix, view.id);
  return {
    id,
    url: `${publicUrl}${panelRoot}/views/${id}`,
    name,
    filters: JSON.parse(filters),
    last,
    columns,
    shared,
    createdAt: formatTimestamp(view.createdAtMs),
    updatedAt: formatTimestamp(view.updatedAtMs),
    createdBy: { id: view.createdById, email: view.createdByEmail },
  };
}

const sharedMax = 200;
const personalMax = 100;

const noView = () => new AppError('not_found', 'there is no such view');

/** Throws `not_found` for an unknown tenant, and `conflict` at the limit or if it has left. */
function createView(
  { db, now, recordOwn, newUuid }: Parts,
  access: TenantAccess,
  settings: ViewSettings,
): Promise<ViewRow> {
  const { tenantId, actor } = access;
  const atMs = now();
  const times = { createdAtMs: atMs, updatedAtMs: atMs };
  const by = { createdById: actor.id, createdByEmail: actor.email };
  const view: ViewRow = { id: newUuid(atMs), ...settings, ...times, ...by };
  return write(db, async (tx) => {
    await requireRoom(tx, tenantId, view);
    await insertView(tx, tenantId, view);
    await recordShared(tx, recordOwn, access, null, view);
    return view;
  });
}

/** Throws `not_found`, `conflict` at the limit, and `forbidden` for hiding another's view. */
function changeView(
  { db, now, recordOwn }: Parts,
  access: TenantAccess,
  id: string,
  settings: ViewSettings,
): Promise<ViewRow> {
  const { tenantId, actor } = access;
  return write(db, async (tx) => {
    const before = await locked(tx, access, id);
    if (isDeepStrictEqual(before, { ...before, ...settings })) return before;
    const view = { ...before, ...settings, updatedAtMs: now() };
    if (before.shared && !view.shared && view.createdById !== actor.id) {
      const sentence = 'only the person who made a view may stop sharing it; you may delete it';
      throw new AppError('forbidden', sentence);
    }
    if (before.shared !== view.shared) await requireRoom(tx, tenantId, view);
    await updateView(tx, tenantId, view);
    await recordShared(tx, recordOwn, access, before, view);
    return view;
  });
}

/** Throws `not_found`. */
function removeView({ db, recordOwn }: Parts, access: TenantAccess, id: string): Promise<void> {
  return write(db, async (tx) => {
    const view = await locked(tx, access, id);
    await deleteView(tx, access.tenantId, id);
    await recordShared(tx, recordOwn, access, view, null);
  });
}

/** The tenant's lock first: concurrent creations of the last view run one after the other. */
async function requireRoom(tx: WriterTx, tenantId: string, view: ViewRow): Promise<void> {
  const tenant = await lockTenant(tx, tenantId);
  if (tenant === null) throw new AppError('not_found', 'no such tenant');
  if (tenant.closedAtMs) throw new AppError('conflict', 'the tenant was offboarded or abandoned');
  const { shared, createdById } = view;
  const max = shared ? sharedMax : personalMax;
  if ((await countViews(tx, tenantId, shared, createdById)) < max) return;
  const owner = shared ? 'a tenant shares' : 'a person has';
  throw new AppError('conflict', `${owner} at most ${max} views; delete one first`);
}

async function locked(tx: WriterTx, { tenantId, actor }: TenantAccess, id: string) {
  const view = await lockView(tx, tenantId, id, actor.id);
  if (view) return view;
  throw noView();
}

/** Personal views are no configuration of the tenant: sharing one records its creation. */
async function recordShared(
  tx: WriterTx,
  recordOwn: RecordOwn,
  { tenantId, ...who }: TenantAccess,
  before: ViewRow | null,
  after: ViewRow | null,
): Promise<void> {
  const [old = null, now = null] = [before, after].map((view) => (view?.shared ? view : null));
  const view = now ?? old;
  if (!view) return;
  const resource = { type: 'view', id: view.id, name: view.name };
  await recordOwn(tx, tenantId, changedBy(who, resource, old && stateOf(old), now && stateOf(now)));
}

const stateOf = ({ name, filters, last, columns }: ViewRow) => {
  return { name, filters: JSON.parse(filters), last, columns };
};
