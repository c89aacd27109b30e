/**
 * The filter of events that URLs, panel, exports and command line share. A parsed filter is
 * canonical: values are normalised, distinct and sorted, so that equal filters are equal data.
 */

import type { ShownEvent } from '../event/committed-event.ts';
import type { SegmentName } from '../event/event-fields.ts';
import { isUuid, uuidTimeMs } from '../event/event-id.ts';
import { externalUuid } from '../event/external-id.ts';
import { formatTimestamp } from '../event/timestamp.ts';
import {
  type BoundName,
  boundNames,
  type FacetName,
  type FilterName,
  facetNames,
  facetOf,
} from './facets.ts';
import { paramOf } from './query-params.ts';
import type { wordsOf } from './words.ts';

/** Matches a value in `any` (all values if empty) that is not in `none`. */
export interface ValueFilter {
  any: readonly string[];
  none: readonly string[];
}

/** Matches this value alone. */
export const only = (value: string): ValueFilter => ({ any: [value], none: [] });

/**
 * All members must match; an absent one matches everything. Times are ms since 1970, from `from`
 * (inclusive) to `to` (exclusive).
 */
export type EventFilter = { [bound in BoundName]?: number } & {
  [facet in FacetName]?: ValueFilter;
};

/** A filter as JSON: times in ISO 8601; a leading `!` excludes a value. */
export type FilterJson = { [bound in BoundName]?: string } & { [facet in FacetName]?: string[] };

/** The texts of each constraining member; equal filters give equal lists. */
function textsOf(filter: EventFilter): [FilterName, string | string[]][] {
  const texts: [FilterName, string | string[]][] = [];
  for (const bound of boundNames) {
    const moment = filter[bound];
    if (moment !== undefined) texts.push([bound, formatTimestamp(moment)]);
  }
  for (const facet of facetNames) {
    const { any, none } = canonicalValues(filter[facet] ?? { any: [], none: [] });
    const values = [...any, ...none.map((value) => `!${value}`)];
    if (values.length > 0) texts.push([facet, values]);
  }
  return texts;
}

/**
 * The filter as query parameters in canonical order; equal filters give equal lists.
 * `parseListQuery` reads them back. Throws RangeError for times outside the years 0 to 9999.
 */
export function filterToParams(filter: EventFilter): [string, string][] {
  return textsOf(filter).flatMap(([name, texts]) =>
    [texts].flat().map((text): [string, string] => [paramOf(name), text]),
  );
}

/**
 * The filter as JSON of bodies and stored texts, in canonical order. `parseFilterBody` and
 * `storedFilter` read it back. Throws RangeError like `filterToParams`.
 */
export function filterToJson(filter: EventFilter): FilterJson {
  return Object.fromEntries(textsOf(filter));
}

/** Equal filters have equal keys, and only those; binds a cursor to its filter. */
export function filterKey(filter: EventFilter): string {
  return JSON.stringify(filterToParams(filter));
}

/** Distinct and sorted by UTF-16 code units. */
export function canonicalValues(values: ValueFilter): ValueFilter {
  return { any: [...new Set(values.any)].sort(), none: [...new Set(values.none)].sort() };
}

/**
 * Whether an event matches a filter; the service decides the same in SQL. For many filters: finds
 * the values of the event, such as its words, once. For many events,
 * `wordsOfQuery` may remember the words of each query.
 */
export function matcherOf(
  event: ShownEvent,
  wordsOfQuery?: WordsOf,
): (filter: EventFilter) => boolean {
  const known = new Map<FacetName, Values>();
  const valuesOf: ValuesOf = (facet) => {
    const values = known.get(facet) ?? facetOf(facet).of(event);
    known.set(facet, values);
    return values;
  };
  return (filter) => matchOf(event, filter, [], valuesOf, wordsOfQuery) === true;
}

type WordsOf = typeof wordsOf;

type Values = ReturnType<ReturnType<typeof facetOf>['of']>;
type ValuesOf = (facet: FacetName) => Values;

/** Whether an event without these segments matches; null if that depends on one of them. */
export function matchOf(
  event: ShownEvent,
  filter: EventFilter,
  hidden: readonly SegmentName[],
  valuesOf: ValuesOf = (facet) => facetOf(facet).of(event),
  wordsOfQuery?: WordsOf,
): boolean | null {
  const timeMs = uuidTimeMs(event.uuid);
  if (filter.from !== undefined && timeMs < filter.from) return false;
  if (filter.to !== undefined && timeMs >= filter.to) return false;
  const receivedMs = Date.parse(event.receivedAt);
  if (filter.receivedFrom !== undefined && receivedMs < filter.receivedFrom) return false;
  if (filter.receivedTo !== undefined && receivedMs >= filter.receivedTo) return false;
  const answers = facetNames.map((facet) =>
    facetMatches(facet, filter, hidden, valuesOf, wordsOfQuery),
  );
  if (answers.includes(false)) return false;
  return answers.includes(null) ? null : true;
}

function facetMatches(
  facet: FacetName,
  filter: EventFilter,
  hidden: readonly SegmentName[],
  valuesOf: ValuesOf,
  wordsOfQuery: WordsOf | undefined,
): boolean | null {
  const given = filter[facet];
  if (given === undefined) return true;
  const { any, none } = given;
  const { heldIn, has: isAmong = includes } = facetOf(facet);
  const values = valuesOf(facet);
  const has = (value: string) => {
    const isHidden = heldIn(value).some((segment) => hidden.includes(segment));
    return isHidden ? null : isAmong(values, value, wordsOfQuery);
  };
  const [wanted, excluded] = [any.map(has), none.map(has)];
  const misses = wanted.length > 0 && wanted.every((each) => each === false);
  if (misses || excluded.includes(true)) return false;
  const isHit = wanted.length === 0 || wanted.includes(true);
  return isHit && !excluded.includes(null) ? true : null;
}

const includes = (values: readonly (string | null)[], wanted: string) => values.includes(wanted);

/** The values that a filter names, wanted and excluded. */
export function valuesOf(filter: EventFilter, facet: FacetName): string[] {
  const { any, none } = filter[facet] ?? { any: [], none: [] };
  return [...any, ...none];
}

/** The segments that decide whether events match. */
export function decidingSegments(filter: EventFilter): Set<SegmentName> {
  return new Set(
    facetNames.flatMap((facet) => valuesOf(filter, facet).flatMap(facetOf(facet).heldIn)),
  );
}

/** The filter with UUIDs in place of the host's own ids, which belong to the tenant. */
export function resolvedFilter(filter: EventFilter, tenantId: string): EventFilter {
  const resolved = { ...filter };
  for (const facet of facetNames) {
    const [values, { external }] = [filter[facet], facetOf(facet)];
    if (values === undefined || external === undefined) continue;
    const isActor = external === 'actor';
    const type = isActor ? 'actor' : (filter.resource?.any[0] ?? '');
    // An address stays: events know it in lower case, with or without an id.
    const uuidOf = (value: string) =>
      isActor && value.includes('@') ? value : externalUuid(tenantId, type, value);
    const { any, none } = values;
    resolved[facet] = canonicalValues({ any: any.map(uuidOf), none: none.map(uuidOf) });
  }
  return resolved;
}

/** Why the filter names a resource by the host's own id without its type, or null. */
export function ownResourceProblem(filter: EventFilter): string | null {
  const { resource } = filter;
  const isOne = resource?.any.length === 1 && resource.none.length === 0;
  if (isOne || valuesOf(filter, 'resourceId').every(isUuid)) return null;
  return 'must be a UUID, or an own id beside exactly one resource type: the type belongs to it';
}
