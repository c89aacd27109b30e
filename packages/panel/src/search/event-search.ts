/** One address = one search: its filters, range, order, time zone and page. */

import {
  type EventFilter,
  type FacetName,
  type FieldProblem,
  filterParamNames,
  filterToParams,
  formatTimestamp,
  type ListOrder,
  parseListQuery,
  parseTimestamp,
} from '@indelible/protocol';
import { densities, type ListView, listColumns, parseColumns } from './list-view.ts';
import { absoluteRange, isPreset, presetDefault, presets, type TimeRange } from './time-range.ts';

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

export type Pairs = readonly (readonly [string, string])[];

const ownNames = ['last', 'at', 'n', 'zone', 'columns', 'density'];
const listNames = [...filterParamNames, 'sort', 'order', 'cursor'];

export const emptySearch: EventSearch = {
  facets: {},
  range: { kind: 'last', preset: presetDefault },
  sort: 'timestamp',
  order: 'desc',
  page: 1,
};

/**
 * The search of decoded parameters, or all problems: a misspelt parameter must not silently widen
 * the result.
 */
export function parseEventSearch(
  params: Pairs,
): { search: EventSearch } | { problems: FieldProblem[] } {
  const own = new Map(params.filter(([name]) => ownNames.includes(name)));
  const parsed = parseListQuery(params.filter(([name]) => !ownNames.includes(name)));
  const problems = 'problems' in parsed ? [...parsed.problems] : [];
  const zone = zoneChoices.find((choice) => choice === own.get('zone'));
  if (own.has('zone') && zone === undefined)
    problems.push(wrong('zone', `is not one of ${zoneChoices.join(', ')}`));
  const preset = own.get('last');
  if (preset !== undefined && !isPreset(preset))
    problems.push(wrong('last', `is not one of ${presets.join(', ')}`));
  const density = densities.find((choice) => choice === own.get('density'));
  if (own.has('density') && density === undefined)
    problems.push(wrong('density', `is not one of ${densities.join(', ')}`));
  const columns = own.has('columns') ? parseColumns(own.get('columns') ?? '') : undefined;
  if (columns === null) problems.push(wrong('columns', `are not of ${listColumns.join(', ')}`));
  const at = own.has('at') ? parseTimestamp(own.get('at') ?? '') : undefined;
  if (at === null) problems.push(wrong('at', 'is not a time as in 2026-05-31T12:00:00Z'));
  for (const [name] of params) {
    const known = ownNames.includes(name) || listNames.includes(name);
    if (!known && !problems.some(({ path }) => path === name))
      problems.push(wrong(name, 'is an unknown parameter'));
  }
  if (problems.length > 0 || 'problems' in parsed) return { problems };
  const { filter, sort, order, cursor } = parsed.query;
  const { from, to, ...facets } = filter;
  const search: EventSearch = {
    facets,
    range: rangeOf(from, to, preset, at),
    sort: sort === 'user' ? 'user' : 'timestamp',
    order,
    page: Math.max(1, Math.trunc(Number(own.get('n') ?? 1)) || 1),
  };
  if (cursor !== undefined) search.cursor = cursor;
  if (zone !== undefined) search.zone = zone;
  if (columns || density)
    search.view = { ...(columns && { columns }), ...(density && { density }) };
  return { search };
}

function rangeOf(
  from: number | undefined,
  to: number | undefined,
  preset: string | undefined,
  at: number | null | undefined,
): TimeRange {
  if (from !== undefined || to !== undefined) {
    return {
      kind: 'between',
      ...(from === undefined ? {} : { from }),
      ...(to === undefined ? {} : { to }),
    };
  }
  const last = preset !== undefined && isPreset(preset) ? preset : presetDefault;
  return { kind: 'last', preset: last, ...(typeof at === 'number' ? { at } : {}) };
}

function wrong(path: string, message: string): FieldProblem {
  return { path, code: 'invalid_parameter', message };
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

export type ValueState = 'any' | 'none' | 'off';

export function stateOf(facets: Facets, facet: FacetName, value: string): ValueState {
  if (facets[facet]?.any.includes(value)) return 'any';
  return facets[facet]?.none.includes(value) ? 'none' : 'off';
}

/** `facets` with one value wanted (`any`), excluded (`none`) or neither. */
export function withValue(
  facets: Facets,
  facet: FacetName,
  value: string,
  state: ValueState,
): Facets {
  const { any, none } = facets[facet] ?? { any: [], none: [] };
  const other = (values: readonly string[]) => values.filter((each) => each !== value);
  const next = {
    any: state === 'any' ? [...other(any), value] : other(any),
    none: state === 'none' ? [...other(none), value] : other(none),
  };
  const { [facet]: _left, ...rest } = facets;
  return next.any.length + next.none.length === 0 ? rest : { ...rest, [facet]: next };
}

/** `facets` with only `value` wanted. */
export function onlyValue(facets: Facets, facet: FacetName, value: string): Facets {
  return { ...facets, [facet]: { any: [value], none: [] } };
}

export function withoutFacet(facets: Facets, facet: FacetName): Facets {
  const { [facet]: _left, ...rest } = facets;
  return rest;
}
