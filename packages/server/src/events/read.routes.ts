import {
  bucketStarts,
  type ListQuery,
  parseListQuery,
  parseStatsQuery,
  resolvedFilter,
  type StatsQuery,
  uuidFromEventId,
  uuidTimeMs,
} from '@indelible/protocol';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Look, lookAt, lookAtEvents } from '../access/look.ts';
import { readAsTenant } from '../access/tenant-access.ts';
import { AppError, invalidParameter } from '../http/problem.ts';
import { accepted, searchParams } from '../http/query.ts';
import type { Parts } from '../parts.ts';
import { countOrMore } from './count.store.ts';
import { lowestShown, type Visibility } from './filter-sql.store.ts';
import { listEvents } from './list.store.ts';
import type { CursorSeal, ListPosition } from './list-cursor.ts';
import type { ListedRow } from './listed-row.ts';
import { eventJson, hasState } from './prepared-event.ts';
import { eventSchema, listSchema, statsSchema } from './read-schemas.ts';
import { listBySequence } from './sequence-list.store.ts';
import { bucketsMax, countGroups, groupsMax } from './stats.store.ts';
import { getEvent, readShown } from './store.ts';

export interface ReadDeps extends Pick<Parts, 'db' | 'now' | 'recordAccess' | 'publicUrl'> {
  cursors: CursorSeal;
}

const json = 'application/json; charset=utf-8';
const config = { scope: 'events:read' } as const;
const counting = { ...config, reads: 'statistics' } as const;

/**
 * `GET /api/audit-logs`, `/{id}` and `/stats`: one tenant's events, as far as its plan shows them.
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

  const stats = { config: counting, schema: statsSchema };
  app.get('/api/audit-logs/stats', stats, async (request, reply) => {
    const query = withRange(accepted(parseStatsQuery(searchParams(request))), deps.now());
    const body = await visibleTo(request, deps, lookAtEvents(query.filter), (visible) =>
      readStats(resolved(query, visible), visible, deps.now()),
    );
    return reply.type(json).send(body);
  });
}

function resolved<Q extends ListQuery | StatsQuery>(query: Q, { tx }: Visibility): Q {
  return { ...query, filter: resolvedFilter(query.filter, tx.tenantId) };
}

/** Reads in the caller's tenant, limited to what its current plan shows. */
function visibleTo<T>(
  request: FastifyRequest,
  deps: ReadDeps,
  look: Look,
  read: (visible: Visibility) => Promise<T>,
): Promise<T> {
  return readAsTenant(request, deps.recordAccess, look, ({ tenantId }) =>
    readShown(deps.db, tenantId, deps.now(), read, request.gone),
  );
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

const day = 86_400_000;

/** Default range: the last 30 days; an open end includes all future events. */
function withRange(query: StatsQuery, nowMs: number): StatsQuery {
  const to = query.filter.to ?? nowMs + 10 * 60_000;
  const from = query.filter.from ?? (query.filter.to === undefined ? nowMs : to) - 30 * day;
  return { ...query, filter: { ...query.filter, from, to } };
}

async function readStats(query: StatsQuery, visible: Visibility, nowMs: number): Promise<string> {
  const starts = buckets(query, visible, nowMs);
  if (starts === null) {
    throw tooMany(
      `the range is longer than ${bucketsMax} buckets; narrow it or group more coarsely`,
    );
  }
  const groups = await countGroups(query, visible, starts);
  if (groups.length > groupsMax) {
    throw tooMany(`more than ${groupsMax} groups; narrow the range or group more coarsely`);
  }
  const data = groups.map(({ values, email, count }) => ({
    ...Object.fromEntries(query.groupBy.map((key, at) => [key, values[at]])),
    email,
    count,
  }));
  const total = groups.reduce((sum, { count }) => sum + count, 0);
  return JSON.stringify({ data, total });
}

/**
 * The starts of the time buckets that can hold events; none without a time key; null if too many.
 */
function buckets({ filter, groupBy, timeZone }: StatsQuery, visible: Visibility, nowMs: number) {
  const unit = groupBy.find((key) => key === 'minute' || key === 'hour' || key === 'day');
  if (!unit) return [];
  const from = Math.max(filter.from ?? 0, uuidTimeMs(lowestShown(visible)));
  const to = Math.min(filter.to ?? Number.POSITIVE_INFINITY, nowMs + 10 * 60_000);
  return bucketStarts(from, to, unit, timeZone, bucketsMax);
}

const tooMany = (detail: string) =>
  invalidParameter(
    { path: 'group_by', code: 'too_many', message: 'gives too many groups' },
    detail,
  );
