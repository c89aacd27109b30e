import type { FacetName, GroupKey } from '@indelible/protocol';
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

/**
 * The query parameters of the list and of its statistics: `resource_id` for `resourceId`. A
 * misspelt member goes along: the service refuses it by name, while leaving it out here would
 * widen the answer.
 */
export function queryParams(query: PageQuery | StatsQuery): Params {
  const { includeState, includeTotal, ...rest } = query as PageQuery;
  const include = [includeTotal && 'total', includeState && 'state'].filter(Boolean);
  return Object.entries({ ...rest, include }).flatMap(([member, value]) =>
    [value ?? []].flat().map((each) => [paramOf(member), String(each)] as const),
  );
}

function paramOf(member: string): string {
  return member.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
