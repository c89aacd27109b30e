import { type NamedFilter, typeId } from '@indelible/protocol';
import type { FastifyInstance } from 'fastify';
import { TenantCalls } from '../access/tenant-calls.ts';
import { filterOfBody, pathOfValue } from '../http/filter-body.ts';
import { AppError } from '../http/problem.ts';
import { waitingOutside } from '../http/tenant-reads.ts';
import type { Parts } from '../parts.ts';
import { type CapsuleDeps, capsuleMax, makeCapsule } from './capsule.ts';
import { searchIdPrefix } from './erased-since.ts';
import { askAgain, saveSearch, shownNow, shownSearch, unknownNow } from './evidence.ts';
import { capsuleSchema, createSchema, getSchema, listSchema } from './schemas.ts';
import { getSearch, listSearches } from './store.ts';
import { viewRoutes } from './views.routes.ts';

/** Views, and searches saved as evidence: query, checkpoint, answer, and the current answer. */
export function searchRoutes(app: FastifyInstance, deps: CapsuleDeps & Parts): void {
  viewRoutes(app, deps);
  const searches = new TenantCalls(app, deps, {
    lookedAt: 'searches',
    path: '/api/audit-logs/searches',
    tag: 'Searches',
    scope: 'events:read',
    idPrefix: searchIdPrefix,
    judgesBodies: true,
    none: () => new AppError('not_found', 'there is no such search'),
  });
  searches.onInput(
    'post',
    createSchema,
    (request, showsEvents) => {
      const filter = filterOfBody(request);
      showsEvents(filter);
      const { note, unknown = false } = request.body as { note?: string | null; unknown?: boolean };
      const pathOf = (name: NamedFilter, value: string) => pathOfValue(request, name, value);
      return { filter, note: note || null, unknown: unknown || pathOf, gone: request.gone };
    },
    async ({ access, request }, asked) => {
      const saved = await saveSearch(waitingOutside(request, deps), access, asked);
      return shownSearch(saved, deps.publicUrl());
    },
  );
  searches.on('get /:id', getSchema, async ({ tenantId, request, found }) => {
    const search = await found(getSearch);
    const now = await askAgain(waitingOutside(request, deps), tenantId, search, request.gone);
    const unknownValues = unknownNow(search, now.coverage);
    return { ...shownSearch(search, deps.publicUrl()), unknownValues, now: shownNow(now) };
  });
  searches.on(
    'post /:id/capsule',
    capsuleSchema,
    async ({ access, found, request }) => {
      const search = await found(getSearch);
      const max = { ...capsuleMax, gone: request.gone };
      return {
        search,
        file: await makeCapsule(waitingOutside(request, deps), access, search, max),
      };
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
