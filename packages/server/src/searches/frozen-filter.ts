import {
  type EventFilter,
  facetNames,
  formatTimestamp,
  parseFilterBody,
} from '@indelible/protocol';

/** A filter whose range is absolute. */
export type FrozenFilter = EventFilter & { from: number; to: number };

/**
 * The filter over what can be said today: nothing before the plan's first moment, nothing after
 * now. An open end becomes that moment. A range that is empty then has `from >= to`.
 */
export function freeze(filter: EventFilter, retainedFromMs: number, nowMs: number): FrozenFilter {
  const from = Math.max(filter.from ?? retainedFromMs, retainedFromMs);
  return { ...filter, from, to: Math.min(filter.to ?? nowMs, nowMs) };
}

/** The filter as `parseFilterBody` takes it: every facet an array, `!` before what is excluded. */
export function filterJson(filter: FrozenFilter): Record<string, string | string[]> {
  const facets = facetNames.flatMap((name) => {
    const values = filter[name];
    if (!values) return [];
    return [[name, [...values.any, ...values.none.map((value) => `!${value}`)]] as const];
  });
  const range = { from: formatTimestamp(filter.from), to: formatTimestamp(filter.to) };
  return { ...range, ...Object.fromEntries(facets) };
}

/** The filter behind a stored text of `filterJson`. */
export function storedFilter(text: string): FrozenFilter {
  const parsed = parseFilterBody(JSON.parse(text));
  if (!('filter' in parsed)) throw new Error('a stored filter cannot be read');
  const { from, to } = parsed.filter;
  if (from === undefined || to === undefined) throw new Error('a stored filter has no range');
  return { ...parsed.filter, from, to };
}
