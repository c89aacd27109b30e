import { type FacetName, facetNames, facetParams, type GroupKey } from '@indelible/protocol';
import type { Params } from './transport.ts';

/** Which events; values any of which is wanted, a leading `!` excludes. Times are ISO 8601. */
export type EventCriteria = {
  from?: string;
  to?: string;
} & { [facet in FacetName]?: string | readonly string[] };

export interface ListQuery extends EventCriteria {
  sort?: 'timestamp' | 'user' | 'sequence';
  order?: 'asc' | 'desc';
  /** With `sort: 'sequence'`: only what comes after it. */
  afterSequence?: number;
  /** Events a page, at most 500. */
  limit?: number;
  /** Needs exactly one `resourceId`. */
  includeState?: boolean;
}

/** One page of the list. */
export interface PageQuery extends ListQuery {
  /** From a page's `nextCursor` or `previousCursor`, with the other members unchanged. */
  cursor?: string;
  /** Counts what matches, to 10,000 at most. */
  includeTotal?: boolean;
}

export interface StatsQuery extends EventCriteria {
  groupBy: readonly GroupKey[];
  timeZone?: string;
}

const orderMembers = ['sort', 'order', 'afterSequence', 'limit', 'cursor'];
const pageMembers = [...orderMembers, 'includeState', 'includeTotal'];
const statsMembers = ['groupBy', 'timeZone'];

/** The query parameters of `GET /api/audit-logs`. Throws TypeError for a member that is none. */
export function listParams(query: PageQuery): Params {
  requireKnown(query, pageMembers);
  const params = criteriaParams(query);
  const add = (name: string, value: string | number | undefined) => {
    if (value !== undefined) params.push([name, String(value)]);
  };
  add('sort', query.sort);
  add('order', query.order);
  add('after_sequence', query.afterSequence);
  add('limit', query.limit);
  add('include', query.includeState ? 'state' : undefined);
  add('include', query.includeTotal ? 'total' : undefined);
  add('cursor', query.cursor);
  return params;
}

/** The query parameters of `GET /api/audit-logs/stats`. Throws TypeError for a member that is none. */
export function statsParams(query: StatsQuery): Params {
  requireKnown(query, statsMembers);
  const params = criteriaParams(query);
  for (const key of query.groupBy) params.push(['group_by', key]);
  if (query.timeZone !== undefined) params.push(['time_zone', query.timeZone]);
  return params;
}

// A misspelt filter that was left out would widen the answer without a word.
function requireKnown(query: object, members: readonly string[]): void {
  const known: readonly string[] = ['from', 'to', ...facetNames, ...members];
  const unknown = Object.keys(query).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new TypeError(`${unknown} is no criterion; there are ${known.join(', ')}`);
}

function criteriaParams(criteria: EventCriteria): [string, string][] {
  const params: [string, string][] = [];
  if (criteria.from !== undefined) params.push(['from', criteria.from]);
  if (criteria.to !== undefined) params.push(['to', criteria.to]);
  for (const facet of facetNames) {
    for (const value of [criteria[facet] ?? []].flat()) params.push([facetParams[facet], value]);
  }
  return params;
}
