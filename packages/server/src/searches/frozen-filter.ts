import { type EventFilter, storedFilter } from '@indelible/protocol';

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

/** The filter of a saved search. */
export function frozenFilter(text: string): FrozenFilter {
  const { from, to, ...facets } = storedFilter(text);
  if (from === undefined || to === undefined) throw new Error('a stored filter has no range');
  return { ...facets, from, to };
}
