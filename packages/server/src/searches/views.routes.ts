import {
  type FieldProblem,
  filterToJson,
  formatTimestamp,
  panelRoot,
  typeId,
} from '@indelible/protocol';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { TenantCalls } from '../access/tenant-calls.ts';
import { filterOfBody } from '../http/filter-body.ts';
import type { Parts } from '../parts.ts';
import { type ChangeViewDeps, changeView, createView, noView, removeView } from './change-view.ts';
import * as schemas from './view-schemas.ts';
import { getView, listViews, type ViewRow, type ViewSettings } from './views.store.ts';

export type ViewRouteDeps = ChangeViewDeps & Pick<Parts, 'recordAccess' | 'publicUrl'>;

const viewIdPrefix = 'view_';

/** Live views: searches under a name, of a person or of the tenant. */
export function viewRoutes(app: FastifyInstance, deps: ViewRouteDeps): void {
  const views = new TenantCalls(app, deps, {
    ...{ lookedAt: 'views', path: '/api/views', tag: 'Views', scope: 'events:read' },
    ...{ idPrefix: viewIdPrefix, none: noView, judgesBodies: true },
  });
  const shown = (view: ViewRow) => shownView(view, deps.publicUrl());

  views.list(
    schemas.listViewsSchema,
    (tx, from, max, { actor }) => listViews(tx, from, max, actor.id),
    (rows) => rows.map(shown),
  );
  views.onInput('post', schemas.createViewSchema, readSettings, async ({ access }, settings) =>
    shown(await createView(deps, access, settings)),
  );
  views.on('get /:id', schemas.getViewSchema, async ({ access: { actor }, found }) =>
    shown(await found((tx, id) => getView(tx, id, actor.id))),
  );
  views.onInput('put /:id', schemas.putViewSchema, readSettings, async ({ access, id }, settings) =>
    shown(await changeView(deps, access, id(), settings)),
  );
  views.on('delete /:id', schemas.deleteViewSchema, async ({ access, id }) =>
    removeView(deps, access, id()),
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
    ...{ name, filters: JSON.parse(filters), last, columns, shared },
    createdAt: formatTimestamp(view.createdAtMs),
    updatedAt: formatTimestamp(view.updatedAtMs),
    createdBy: { id: view.createdById, email: view.createdByEmail },
  };
}
