import { type EventFilter, only, resolvedFilter } from '../filter/event-filter.ts';
import type { FacetName } from '../filter/facets.ts';

/** The filters whose values are persons and resources. */
export const namedFilters = [
  'user',
  'onBehalfOf',
  'resource',
  'resourceId',
  'target',
] as const satisfies FacetName[];

export type NamedFilter = (typeof namedFilters)[number];

/**
 * Values of a saved search that occur in no event, as they were asked for. That no event matches
 * them proves nothing: they may be misspelt.
 */
export type UnknownValues = { [name in NamedFilter]?: string[] };

/** A count, or the number from which on nothing was counted. */
export interface CountOrMore {
  value: number;
  relation: 'eq' | 'gte';
}

/** The events at any time of one value that a filter asks for. */
export interface ValueTotal {
  filter: string;
  value: string;
  events: CountOrMore;
}

/**
 * The unknown values of a search that was saved before the service looked for them. A value that
 * found events is known, although these may have expired since.
 */
export function unknownOf(totals: readonly ValueTotal[], matched: number): UnknownValues {
  const unknown: UnknownValues = {};
  for (const name of namedFilters) {
    const all = totals.filter(({ filter }) => filter === name);
    if (all.length === 1 && matched > 0) continue;
    const none = all.filter(({ events }) => events.value === 0 && events.relation === 'eq');
    if (none.length > 0) unknown[name] = none.map(({ value }) => value);
  }
  return unknown;
}

/** Each unknown value with its filter. */
export function unknownPairs(unknown: UnknownValues): [NamedFilter, string][] {
  return namedFilters.flatMap((name) =>
    (unknown[name] ?? []).map((value): [NamedFilter, string] => [name, value]),
  );
}

/** A person or resource that a filter asks for, and the filter that looks for it alone. */
export interface NamedValue {
  name: NamedFilter;
  value: string;
  alone: EventFilter;
}

/**
 * The persons and resources that a filter asks for. Not those that it excludes: one of no event
 * excludes nothing.
 */
export function namedValues(filter: EventFilter, tenantId: string): NamedValue[] {
  const { resource } = filter;
  return namedFilters.flatMap((name) =>
    (filter[name]?.any ?? []).map((value) => {
      // An id is one of its type: a recording's id names no queue.
      const ofType = name === 'resourceId' && resource ? { resource } : {};
      return { name, value, alone: resolvedFilter({ ...ofType, [name]: only(value) }, tenantId) };
    }),
  );
}
