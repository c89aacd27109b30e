/** One address = one search: its filters, range, order, time zone and page. */

import {
  type EventFilter,
  type FacetName,
  type FieldProblem,
  filterParamNames,
  filterToParams,
  formatTimestamp,
  type ListOrder,
  oneOf,
  only,
  parseTimestamp,
  readFilterParams,
  readOrder,
  readParams,
} from '@indelible/protocol';
import { densities, type ListView, listColumns, parseColumns } from './list-view.ts';
import { absoluteRange, presetDefault, presets, type TimeRange } from './time-range.ts';

export const zoneChoices = ['tenant', 'local', 'utc'] as const;
export type ZoneChoice = (typeof zoneChoices)[number];

/** A filter without its range. */
export type Facets = Omit<EventFilter, 'from' | 'to'>;

export interface EventSearch {
  facets: Facets;
  range: TimeRange;
  sort: 'timestamp' | 'user';
  order: ListOrder;
  cursor?: string;
  /** Number of the page at the cursor, from 1, for display. */
  page: number;
  /** Absent: the reader's preference. */
  zone?: ZoneChoice;
  /** What is absent is the reader's preference. */
  view?: Partial<ListView>;
}

/** A search on a page: the end of its relative range, and how to change it. */
export interface Searching {
  search: EventSearch;
  nowMs: number;
  change: (next: EventSearch) => void;
}

export type Pairs = readonly (readonly [string, string])[];

export const emptySearch: EventSearch = {
  facets: {},
  range: { kind: 'last', preset: presetDefault },
  sort: 'timestamp',
  order: 'desc',
  page: 1,
};

/** Every event that the plan shows. */
export const everything: EventSearch = {
  ...emptySearch,
  range: { kind: 'last', preset: 'all' },
};

/**
 * The search of decoded parameters, or all problems: a misspelt parameter must not silently widen
 * the result.
 */
export function parseEventSearch(
  params: Pairs,
): { search: EventSearch } | { problems: FieldProblem[] } {
  const reader = readParams(params, paramNames);
  const word = <Word extends string>(name: string, words: readonly Word[]) =>
    reader.one(name, `one of ${words.join(', ')}`, oneOf(words));
  const { from, to, ...facets } = readFilterParams(reader);
  const { sort, order } = readOrder(reader);
  const preset = word('last', presets) ?? presetDefault;
  const at = reader.one('at', 'a time as in 2026-05-31T12:00:00Z', parseTimestamp);
  const isAbsolute = from !== undefined || to !== undefined;
  const between = { kind: 'between', ...given({ from, to }) } as const;
  const view = given({
    columns: reader.one('columns', `some of ${listColumns.join(', ')}`, parseColumns),
    density: word('density', densities),
  });
  const search: EventSearch = {
    facets,
    range: isAbsolute ? between : { kind: 'last', preset, ...given({ at }) },
    sort: sort === 'user' ? 'user' : 'timestamp',
    order,
    page: reader.one('n', 'a page', (text) => Math.max(1, Math.trunc(Number(text)) || 1)) ?? 1,
    ...given({
      cursor: reader.one('cursor', 'a cursor', (text) => text),
      zone: word('zone', zoneChoices),
    }),
    ...(Object.keys(view).length > 0 && { view }),
  };
  const refusal = reader.refusal();
  return refusal ?? { search };
}

const paramNames = [
  ...[...filterParamNames, 'sort', 'order', 'cursor'],
  ...['last', 'at', 'n', 'zone', 'columns', 'density'],
];

/** The members that have a value. */
function given<Members extends object>(members: Members) {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [name in keyof Members]?: NonNullable<Members[name]> };
}

/** The parameters of a search, defaults left out; `parseEventSearch` reads them back. */
export function eventSearchParams(search: EventSearch): Pairs {
  const { range, sort, order, cursor, page, zone, view } = search;
  const between = range.kind === 'between' ? absoluteRange(range, 0) : {};
  const params = filterToParams({ ...search.facets, ...between });
  const add = (name: string, value: string | undefined) => {
    if (value !== undefined) params.push([name, value]);
  };
  if (range.kind === 'last') {
    add('last', range.preset === presetDefault ? undefined : range.preset);
    add('at', range.at === undefined ? undefined : formatTimestamp(range.at));
  }
  add('sort', sort === 'timestamp' ? undefined : sort);
  add('order', order === (sort === 'timestamp' ? 'desc' : 'asc') ? undefined : order);
  add('cursor', cursor);
  add('n', page === 1 ? undefined : String(page));
  add('zone', zone);
  add('columns', view?.columns?.join(','));
  add('density', view?.density);
  return params;
}

/** The filter with an absolute range, as the service expects it. */
export function filterAt(search: EventSearch, nowMs: number): EventFilter {
  return { ...search.facets, ...absoluteRange(search.range, nowMs) };
}

/** The search with its relative range made absolute, for links and exports. */
export function frozen(search: EventSearch, nowMs: number): EventSearch {
  return { ...search, range: { kind: 'between', ...absoluteRange(search.range, nowMs) } };
}

/** `search` with other criteria and without its cursor, which is valid for one list only. */
export function changed(search: EventSearch, change: Partial<EventSearch>): EventSearch {
  const { cursor: _left, ...rest } = search;
  const { range } = rest;
  const loose: TimeRange = range.kind === 'last' ? { kind: 'last', preset: range.preset } : range;
  return { ...rest, range: loose, page: 1, ...change };
}

/** `facets` with one value excluded. */
export function excluding(facets: Facets, facet: FacetName, value: string): Facets {
  const { any, none } = facets[facet] ?? { any: [], none: [] };
  const others = (values: readonly string[]) => values.filter((each) => each !== value);
  return { ...facets, [facet]: { any: others(any), none: [...others(none), value] } };
}

/** `facets` with only `value` wanted. */
export function onlyValue(facets: Facets, facet: FacetName, value: string): Facets {
  return { ...facets, [facet]: only(value) };
}

export function withoutFacet(facets: Facets, facet: FacetName): Facets {
  const { [facet]: _left, ...rest } = facets;
  return rest;
}
