import { bucketStarts, parseStatsQuery, type StatsQuery, uuidTimeMs } from '@indelible/protocol';
import type { FastifyInstance } from 'fastify';
import { lookAtEvents } from '../access/look.ts';
import { lowestShown, type Visibility } from '../events/filter-sql.store.ts';
import { resolved, visibleTo } from '../events/visible-to.ts';
import { invalidParameter } from '../http/problem.ts';
import { accepted, searchParams } from '../http/query.ts';
import type { Parts } from '../parts.ts';
import { bucketsMax, countGroups, groupsMax } from './stats.store.ts';
import { statsSchema } from './stats-schemas.ts';

const config = { scope: 'events:read', reads: 'statistics' } as const;

/** `GET /api/audit-logs/stats`: counts one tenant's events, as far as its plan shows them. */
export function statsRoutes(
  app: FastifyInstance,
  deps: Pick<Parts, 'db' | 'now' | 'recordAccess'>,
): void {
  app.get('/api/audit-logs/stats', { config, schema: statsSchema }, async (request, reply) => {
    const query = withRange(accepted(parseStatsQuery(searchParams(request))), deps.now());
    const body = await visibleTo(request, deps, lookAtEvents(query.filter), (visible) =>
      readStats(resolved(query, visible), visible, deps.now()),
    );
    return reply.type('application/json; charset=utf-8').send(body);
  });
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
