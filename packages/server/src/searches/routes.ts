import {
  formatTimestamp,
  panelRoot,
  resolvedFilter,
  typeId,
  uuidFromTypeId,
} from '@indelible/protocol';
import type { FastifyInstance } from 'fastify';
import { lookAt, lookAtEvents, readAsTenant } from '../access/index.ts';
import { AppError, answerPage, filterOfBody, readPage } from '../http/index.ts';
import { readTenant } from '../postgres/index.ts';
import { shownGap } from '../sources/index.ts';
import type { Covered } from './coverage.ts';
import {
  type AnswerNow,
  askAgain,
  hex,
  type SearchDeps,
  saveSearch,
  searchIdPrefix,
} from './evidence.ts';
import { createSchema, getSchema, listSchema } from './schemas.ts';
import { getSearch, listSearches, type SavedSearch } from './store.ts';

const config = { scope: 'events:read', schema: 'enforced' } as const;
const searching = { ...config, reads: 'search' } as const;
const path = '/api/audit-logs/searches';

/** Searches saved as evidence: query, checkpoint, answer, and the current answer. */
export function searchRoutes(app: FastifyInstance, deps: SearchDeps): void {
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
    return reply.code(201).send(shown(search, deps.publicUrl()));
  });

  app.get(`${path}/:id`, { config: searching, schema: getSchema }, (request) =>
    readAsTenant(request, deps.recordAccess, lookAt('searches', request), async ({ tenantId }) => {
      const id = uuidFromTypeId(searchIdPrefix, (request.params as { id: string }).id);
      const search = id && (await readTenant(deps.db, tenantId, (tx) => getSearch(tx, id)));
      if (!search) throw new AppError('not_found', 'there is no such search');
      const now = await askAgain(deps, tenantId, search, request.gone);
      return { ...shown(search, deps.publicUrl()), now: shownNow(now) };
    }),
  );

  app.get(path, { config, schema: listSchema }, async (request) => {
    const page = readPage(request, 'newest');
    return readAsTenant(request, deps.recordAccess, lookAt('searches', request), ({ tenantId }) =>
      answerPage(
        page,
        (from, max) => readTenant(deps.db, tenantId, (tx) => listSearches(tx, from, max)),
        (rows) => rows.map((row) => shown(row, deps.publicUrl())),
      ),
    );
  });
}

const shownAnswer = ({ matched, digest }: Pick<SavedSearch, 'matched' | 'digest'>) => ({
  matched: { value: matched },
  digest: hex(digest),
});

const shownCheckpoint = ({
  size,
  root,
  note,
}: {
  size: number;
  root: Uint8Array;
  note: string;
}) => ({
  size,
  rootHash: hex(root),
  note,
});

function shown(search: SavedSearch, publicUrl: string) {
  const { checkpointSize: size, checkpointRoot: root, checkpointNote: note } = search;
  const id = typeId(searchIdPrefix, search.id);
  return {
    id,
    url: `${publicUrl}${panelRoot}/searches/${id}`,
    filters: JSON.parse(search.filters),
    note: search.note,
    createdAt: formatTimestamp(search.createdAtMs),
    createdBy: { id: search.createdById, email: search.createdByEmail },
    checkpoint: shownCheckpoint({ size, root, note }),
    ...shownAnswer(search),
  };
}

const shownCovered = ({ firstReceivedMs, lastReceivedMs, gaps, ...source }: Covered) => ({
  ...source,
  firstReceivedAt: formatTimestamp(firstReceivedMs),
  lastReceivedAt: formatTimestamp(lastReceivedMs),
  gaps: gaps.map(shownGap),
});

function shownNow({ answer, checkpoint, recordedSince, sources, ...verdicts }: AnswerNow) {
  return {
    ...shownAnswer(answer),
    ...verdicts,
    recordedSince: { value: recordedSince },
    sources: sources.map(shownCovered),
    checkpoint: checkpoint && shownCheckpoint(checkpoint),
  };
}
