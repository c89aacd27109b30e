import {
  type FieldProblem,
  filterToJson,
  formatTimestamp,
  panelRoot,
  typeId,
  uuidFromTypeId,
} from '@indelible/protocol';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { lookAt, readAsTenant, type TenantAccess } from '../access/index.ts';
import { answerPage, filterOfBody, readPage } from '../http/index.ts';
import type { Parts } from '../parts.ts';
import { readTenant } from '../postgres/index.ts';
import { type ChangeViewDeps, changeView, createView, noView, removeView } from './change-view.ts';
import * as schemas from './view-schemas.ts';
import { getView, listViews, type ViewRow, type ViewSettings } from './views.store.ts';

export type ViewRouteDeps = ChangeViewDeps & Pick<Parts, 'recordAccess' | 'publicUrl'>;

const config = { scope: 'events:read', schema: 'enforced' } as const;
// `filterOfBody` reports the problems of the schema with those of the filter.
const attachValidation = true;
const path = '/api/views';
const prefix = 'view_';

/** Live views: searches under a name, of a person or of the tenant. */
export function viewRoutes(app: FastifyInstance, deps: ViewRouteDeps): void {
  const { db, recordAccess } = deps;
  const asTenant = <T>(request: FastifyRequest, read: (access: TenantAccess) => Promise<T>) =>
    readAsTenant(request, recordAccess, lookAt('views', request), read);
  const shown = (view: ViewRow) => shownView(view, deps.publicUrl());

  app.get(path, { config, schema: schemas.listViewsSchema }, (request) => {
    const page = readPage(request, 'newest');
    return asTenant(request, ({ tenantId, actor }) =>
      answerPage(
        page,
        (from, max) => readTenant(db, tenantId, (tx) => listViews(tx, from, max, actor.id)),
        (rows) => rows.map(shown),
      ),
    );
  });

  const creating = { config, schema: schemas.createViewSchema, attachValidation };
  app.post(path, creating, async (request, reply) => {
    const settings = readSettings(request);
    const view = await asTenant(request, (access) => createView(deps, access, settings));
    return reply.code(201).send(shown(view));
  });

  app.get(`${path}/:id`, { config, schema: schemas.getViewSchema }, (request) =>
    asTenant(request, async ({ tenantId, actor }) => {
      const id = idOf(request);
      const view = await readTenant(db, tenantId, (tx) => getView(tx, id, actor.id));
      if (!view) throw noView();
      return shown(view);
    }),
  );

  const putting = { config, schema: schemas.putViewSchema, attachValidation };
  app.put(`${path}/:id`, putting, (request) => {
    const settings = readSettings(request);
    return asTenant(request, async (access) =>
      shown(await changeView(deps, access, idOf(request), settings)),
    );
  });

  const removing = { config, schema: schemas.deleteViewSchema };
  app.delete(`${path}/:id`, removing, async (request, reply) => {
    await asTenant(request, async (access) => removeView(deps, access, idOf(request)));
    return reply.code(204).send();
  });
}

function idOf({ params }: FastifyRequest): string {
  const id = uuidFromTypeId(prefix, (params as { id: string }).id);
  if (id === null) throw noView();
  return id;
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
  const id = typeId(prefix, view.id);
  return {
    id,
    url: `${publicUrl}${panelRoot}/views/${id}`,
    ...{ name, filters: JSON.parse(filters), last, columns, shared },
    createdAt: formatTimestamp(view.createdAtMs),
    updatedAt: formatTimestamp(view.updatedAtMs),
    createdBy: { id: view.createdById, email: view.createdByEmail },
  };
}
