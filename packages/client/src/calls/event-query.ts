import { type FacetName, type GroupKey, paramOf } from '@indelible/protocol';
import type { Params } from '../http/transport.ts';

/** Selects events by any of these values; a leading `!` excludes. Times are ISO 8601. */
export type EventCriteria = {
  from?: string;
  to?: string;
} & { [facet in FacetName]?: string | readonly string[] };

export interface ListQuery extends EventCriteria {
  sort?: 'timestamp' | 'user' | 'sequence';
  order?: 'asc' | 'desc';
  /** With `sort: 'sequence'`: only later events. */
  afterSequence?: number;
  /** Events a page, at most 500. */
  limit?: number;
  /** Requires exactly one `resourceId`. */
  includeState?: boolean;
}

export interface PageQuery extends ListQuery {
  /** `nextCursor` or `previousCursor` of a page; all other members must be unchanged. */
  cursor?: string;
  /** Counts the matches, up to 10,000. */
  includeTotal?: boolean;
}

export interface StatsQuery extends EventCriteria {
  groupBy: readonly GroupKey[];
  timeZone?: string;
}

/**
 * The query parameters of the list and of its statistics: `resource_id` for `resourceId`. An
 * unknown member is sent too: the service refuses it, while dropping it would widen the answer.
 */
export function queryParams(query: PageQuery | StatsQuery = {}): Params {
  const { includeState, includeTotal, ...rest } = query as PageQuery;
  const include = [includeTotal && 'total', includeState && 'state'].filter(Boolean);
  return Object.entries({ ...rest, include }).flatMap(([member, value]) =>
    [value ?? []].flat().map((each) => [paramOf(member), String(each)] as const),
  );
}
