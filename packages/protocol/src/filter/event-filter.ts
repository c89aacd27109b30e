/**
 * Which events someone wants to see: the one filter that addresses, the panel, exports and the
 * command line share. A filter made by a parser is canonical: values are normalised, distinct and
 * sorted, so that equal filters are equal data.
 */

import { formatTimestamp } from '../event/timestamp.ts';

/** Any of `any` (none given: any value) and none of `none`. */
export interface ValueFilter {
  any: readonly string[];
  none: readonly string[];
}

/** All members must hold; an absent one is no constraint. */
export interface EventFilter {
  /** First moment that is in, ms since 1970. */
  from?: number;
  /** First moment that is out again. */
  to?: number;
  /** Actor ids (lower-case UUID) and e-mail addresses (lower case) together. */
  user?: ValueFilter;
  action?: ValueFilter;
  /** Resource types. */
  resource?: ValueFilter;
  /** Lower-case UUIDs. */
  resourceId?: ValueFilter;
  /** `'true'` and `'false'`. */
  crossTenant?: ValueFilter;
  category?: ValueFilter;
}

/** The members of a filter that hold values, in canonical order, with their parameter names. */
export const facetParams = {
  user: 'user',
  action: 'action',
  resource: 'resource',
  resourceId: 'resource_id',
  crossTenant: 'cross_tenant',
  category: 'category',
} as const;

export type FacetName = keyof typeof facetParams;
export const facetNames = Object.keys(facetParams) as FacetName[];

/** How many values, wanted and excluded together, one facet takes. */
export const facetValuesMax = 20;

/**
 * The filter as query parameters in canonical order; equal filters give equal lists, and
 * `parseListQuery` reads them back. Throws RangeError for times outside the years 0 to 9999.
 */
export function filterToParams(filter: EventFilter): [string, string][] {
  const params: [string, string][] = [];
  if (filter.from !== undefined) params.push(['from', formatTimestamp(filter.from)]);
  if (filter.to !== undefined) params.push(['to', formatTimestamp(filter.to)]);
  for (const facet of facetNames) {
    const { any, none } = canonicalValues(filter[facet] ?? { any: [], none: [] });
    for (const value of any) params.push([facetParams[facet], value]);
    for (const value of none) params.push([facetParams[facet], `!${value}`]);
  }
  return params;
}

/** A text that two filters share exactly when they are equal, for binding cursors to a filter. */
export function filterKey(filter: EventFilter): string {
  return JSON.stringify(filterToParams(filter));
}

/** Distinct and sorted by UTF-16 code units. */
export function canonicalValues(values: ValueFilter): ValueFilter {
  return { any: [...new Set(values.any)].sort(), none: [...new Set(values.none)].sort() };
}
