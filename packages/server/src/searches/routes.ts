import { resolvedFilter, typeId } from '@indelible/protocol';
import type { FastifyInstance } from 'fastify';
import { lookAtEvents, readAsTenant, TenantCalls } from '../access/index.ts';
import { AppError, filterOfBody } from '../http/index.ts';
import { type CapsuleDeps, makeCapsule } from './capsule.ts';
import { askAgain, saveSearch, searchIdPrefix } from './evidence.ts';
import { capsuleSchema, createSchema, getSchema, listSchema } from './schemas.ts';
import { shownNow, shownSearch } from './shown.ts';
import { getSearch, listSearches } from './store.ts';
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

  const searches = new TenantCalls(app, deps, {
    ...{ lookedAt: 'searches', path, tag: 'Searches', scope: 'events:read' },
    idPrefix: searchIdPrefix,
    none: () => new AppError('not_found', 'there is no such search'),
  });
  searches.on('get /:id', getSchema, async ({ tenantId, request, found }) => {
    const search = await found(getSearch);
    const now = await askAgain(deps, tenantId, search, request.gone);
    return { ...shownSearch(search, deps.publicUrl()), now: shownNow(now) };
  });
  searches.on(
    'post /:id/capsule',
    capsuleSchema,
    async ({ access, found }) => {
      const search = await found(getSearch);
      return { search, file: await makeCapsule(deps, access, search) };
    },
    (reply, { search, file }) => {
      const name = `evidence-${typeId(searchIdPrefix, search.id)}.html`;
      reply.header('content-disposition', `attachment; filename="${name}"`);
      return reply.type('text/html; charset=utf-8').send(file);
    },
  );
  searches.list(listSchema, listSearches, (rows) =>
    rows.map((row) => shownSearch(row, deps.publicUrl())),
  );
}
