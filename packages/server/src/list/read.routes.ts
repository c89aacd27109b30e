import { type ListQuery, parseListQuery, uuidFromEventId } from '@indelible/protocol';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { lookAt, lookAtEvents } from '../access/look.ts';
import type { Visibility } from '../events/filter-sql.store.ts';
import type { ListedRow } from '../events/listed-row.ts';
import { eventJson, hasState } from '../events/prepared-event.ts';
import { getEvent } from '../events/store.ts';
import { resolved, visibleTo } from '../events/visible-to.ts';
import { AppError, invalidParameter } from '../http/problem.ts';
import { accepted, searchParams } from '../http/query.ts';
import type { Parts } from '../parts.ts';
import { countOrMore } from './count.store.ts';
import { listEvents } from './list.store.ts';
import type { CursorSeal, ListPosition } from './list-cursor.ts';
import { eventSchema, listSchema } from './read-schemas.ts';
import { listBySequence } from './sequence-list.store.ts';

export interface ReadDeps extends Pick<Parts, 'db' | 'now' | 'recordAccess' | 'publicUrl'> {
  cursors: CursorSeal;
}

const json = 'application/json; charset=utf-8';
const config = { scope: 'events:read' } as const;

/**
 * `GET /api/audit-logs` and `/{id}`: one tenant's events, as far as its plan shows them.
 */
export function readRoutes(app: FastifyInstance, deps: ReadDeps): void {
  app.get('/api/audit-logs', { config, schema: listSchema }, async (request, reply) => {
    const query = accepted(parseListQuery(searchParams(request)));
    const look = lookAtEvents(query.filter, query.include.state);
    const page = await visibleTo(request, deps, look, (visible) =>
      readPage(resolved(query, visible), visible, deps),
    );
    const links = linkHeader(request, page, deps.publicUrl());
    if (links) reply.header('link', links);
    return reply.type(json).send(page.json);
  });

  app.get('/api/audit-logs/:id', { config, schema: eventSchema }, async (request, reply) => {
    const uuid = uuidFromEventId((request.params as { id: string }).id);
    const body = await visibleTo(request, deps, lookAt('event', request), async (visible) => {
      const event = uuid && (await getEvent(uuid, visible));
      if (!event) throw new AppError('not_found', 'there is no such event');
      return eventJson(event, true, hasState(event));
    });
    return reply.type(json).send(body);
  });
}

interface Page {
  json: string;
  next: string | null;
  previous: string | null;
}

async function readPage(
  query: ListQuery,
  visible: Visibility,
  { cursors }: ReadDeps,
): Promise<Page> {
  const position =
    query.cursor === undefined ? null : cursors.read(visible.tx.tenantId, query, query.cursor);
  const { rows, next, previous } =
    query.sort === 'sequence'
      ? await sequencePage(query, visible, position)
      : await keysetPage(query, visible, position);
  const seal = (at: ListPosition | null) => at && cursors.write(visible.tx.tenantId, query, at);
  const total = query.include.total ? await countOrMore(query.filter, visible) : undefined;
  const pagination = {
    limit: query.limit,
    page: query.cursor === undefined && query.sort !== 'sequence' ? (query.page ?? 1) : null,
    hasMore: next !== null,
    nextCursor: seal(next),
    previousCursor: seal(previous),
    ...(total ? { total } : {}),
  };
  const data = rows.map((row) => eventJson(row, query.include.state, row.hasState)).join(',');
  return {
    json: `{"data":[${data}],"pagination":${JSON.stringify(pagination)}}`,
    next: pagination.nextCursor,
    previous: pagination.previousCursor,
  };
}

interface Rows {
  rows: ListedRow[];
  next: ListPosition | null;
  previous: ListPosition | null;
}

async function keysetPage(
  query: ListQuery,
  visible: Visibility,
  position: ListPosition | null,
): Promise<Rows> {
  const { rows, more } = await listEvents(query, visible, position);
  // A numbered page that ends early would leave a gap, because the next page starts at a fixed
  // offset.
  if (query.page !== undefined && more && rows.length < query.limit) {
    const message = 'is larger than 8 MiB; use a smaller limit, or cursor with nextCursor';
    throw invalidParameter({ path: 'page', code: 'too_large', message }, `this page ${message}`);
  }
  const backwards = position?.direction === 'previous';
  const at = (row: ListedRow | undefined, direction: ListPosition['direction']) =>
    row
      ? {
          direction,
          uuid: row.uuid,
          emailKey: query.sort === 'user' ? row.emailKey : '',
          sequence: 0,
        }
      : null;
  const hasNext = backwards || more;
  const hasPrevious = backwards ? more : position !== null || (query.page ?? 1) > 1;
  return {
    rows,
    next: hasNext ? at(rows.at(-1), 'next') : null,
    previous: hasPrevious ? at(rows[0], 'previous') : null,
  };
}

async function sequencePage(
  query: ListQuery,
  visible: Visibility,
  position: ListPosition | null,
): Promise<Rows> {
  const { rows, nextSequence } = await listBySequence(query, visible, position?.sequence ?? null);
  const next =
    nextSequence === null
      ? null
      : { direction: 'next' as const, uuid: '', emailKey: '', sequence: nextSequence };
  return { rows, next, previous: null };
}

function linkHeader(request: FastifyRequest, page: Page, publicUrl: string): string {
  const link = (cursor: string | null, rel: string) => {
    if (cursor === null) return [];
    const params = searchParams(request);
    params.delete('page');
    params.set('cursor', cursor);
    return [`<${publicUrl}/api/audit-logs?${params}>; rel="${rel}"`];
  };
  return [...link(page.next, 'next'), ...link(page.previous, 'prev')].join(', ');
}
