import {
  type FacetName,
  filterNames,
  type GroupKey,
  paramOf,
  unknownNameMessage,
} from '@indelible/protocol';
import type { Params } from '../http/transport.ts';

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

const criteriaParams = Object.fromEntries(filterNames.map((name) => [name, paramOf(name)]));
const pageParams = {
  ...criteriaParams,
  ...{ sort: 'sort', order: 'order', afterSequence: 'after_sequence', limit: 'limit' },
  ...{ cursor: 'cursor', includeState: 'include', includeTotal: 'include' },
};
const statsOnly = { groupBy: 'group_by', timeZone: 'time_zone' };

/** The query parameters of `GET /api/audit-logs`. Throws TypeError for a member that is none. */
export function listParams(query: PageQuery): Params {
  const includeState = query.includeState ? 'state' : undefined;
  const includeTotal = query.includeTotal ? 'total' : undefined;
  return paramsOf({ ...query, includeState, includeTotal }, pageParams);
}

/**
 * The query parameters of `GET /api/audit-logs/stats`. Throws TypeError for a member that is none.
 */
export function statsParams(query: StatsQuery): Params {
  return paramsOf(query, { ...criteriaParams, ...statsOnly });
}

/** In the order of `names`: the parameter of each member that a query may have. */
function paramsOf(query: object, names: Record<string, string>): Params {
  // A misspelt filter that was left out would widen the answer without a word.
  const unknown = Object.keys(query).find((name) => !Object.hasOwn(names, name));
  if (unknown !== undefined) {
    throw new TypeError(unknownNameMessage('filter', unknown, Object.keys(names)));
  }
  const given: Record<string, unknown> = { ...query };
  return Object.entries(names).flatMap(([member, name]) => {
    const value = given[member];
    return value === undefined ? [] : [value].flat().map((each) => [name, String(each)] as const);
  });
}
