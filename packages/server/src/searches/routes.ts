import { resolvedFilter, uuidFromTypeId } from '@indelible/protocol';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { lookAt, lookAtEvents, readAsTenant, TenantCalls } from '../access/index.ts';
import { AppError, filterOfBody } from '../http/index.ts';
import { type Database, readTenant } from '../postgres/index.ts';
import { type CapsuleDeps, makeCapsule } from './capsule.ts';
import { askAgain, saveSearch, searchIdPrefix } from './evidence.ts';
import { capsuleSchema, createSchema, getSchema, listSchema } from './schemas.ts';
import { shownNow, shownSearch } from './shown.ts';
import { getSearch, listSearches, type SavedSearch } from './store.ts';
import { type ViewRouteDeps, viewRoutes } from './views.routes.ts';

const searching = { scope: 'events:read', schema: 'enforced', reads: 'search' } as const;
const path = '/api/audit-logs/searches';

/** Views, and searches saved as evidence: query, checkpoint, answer, and the current answer. */
export function searchRoutes(app: FastifyInstance, deps: CapsuleDeps & ViewRouteDeps): void {
  viewRoutes(app, deps);
  const creating = { config: searching, schema: createSchema, attachValidation: true };
  app.post(path, creating, async (request, reply) => {
    const filter = filterOfBody(request);
    const { note } = request.body as { note?: string | null };
    const asked = { filter, note: note || null, gone: request.gone };
    const search = await readAsTenant(
      request,
      deps.recordAccess,
      lookAtEvents(asked.filter),
      (access) => {
        const filter = resolvedFilter(asked.filter, access.tenantId);
        return saveSearch(deps, access, { ...asked, filter });
      },
    );
    return reply.code(201).send(shownSearch(search, deps.publicUrl()));
  });

  app.post(
    `${path}/:id/capsule`,
    { config: searching, schema: capsuleSchema },
    async (request, reply) => {
      const look = lookAt('searches', request);
      const file = await readAsTenant(request, deps.recordAccess, look, async (access) =>
        makeCapsule(deps, access, await namedSearch(request, deps.db, access.tenantId)),
      );
      const { id } = request.params as { id: string };
      reply.header('content-disposition', `attachment; filename="evidence-${id}.html"`);
      return reply.type('text/html; charset=utf-8').send(file);
    },
  );

  const searches = new TenantCalls(app, deps, {
    ...{ lookedAt: 'searches', path, tag: 'Searches', scope: 'events:read' },
    ...{ idPrefix: searchIdPrefix, none: noSearch },
  });
  searches.on('get /:id', getSchema, async ({ tenantId, request, found }) => {
    const search = await found(getSearch);
    const now = await askAgain(deps, tenantId, search, request.gone);
    return { ...shownSearch(search, deps.publicUrl()), now: shownNow(now) };
  });
  searches.list(listSchema, listSearches, (rows) =>
    rows.map((row) => shownSearch(row, deps.publicUrl())),
  );
}

const noSearch = () => new AppError('not_found', 'there is no such search');

async function namedSearch(
  { params }: FastifyRequest,
  db: Database,
  tenantId: string,
): Promise<SavedSearch> {
  const id = uuidFromTypeId(searchIdPrefix, (params as { id: string }).id);
  const search = id && (await readTenant(db, tenantId, (tx) => getSearch(tx, id)));
  if (search) return search;
  throw noSearch();
}
