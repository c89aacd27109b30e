import { type EventFilter, storedFilter } from '@indelible/protocol';

/** A filter with an absolute range. */
export type FrozenFilter = EventFilter & { from: number; to: number };

/**
 * The filter limited to what can be answered now: from the plan's first time to the present. Open
 * ends become these times. An empty range has `from >= to`.
 */
export function freeze(filter: EventFilter, retainedFromMs: number, nowMs: number): FrozenFilter {
  const from = Math.max(filter.from ?? retainedFromMs, retainedFromMs);
  return { ...filter, from, to: Math.min(filter.to ?? nowMs, nowMs) };
}

/** The filter of a saved search. */
export function frozenFilter(text: string): FrozenFilter {
  const { from, to, ...facets } = storedFilter(text);
  if (from === undefined || to === undefined) throw new Error('a stored filter has no range');
  return { ...facets, from, to };
}
