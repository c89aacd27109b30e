import type { EventCriteria } from '@indelible/client';
import { parseFilterBody } from '@indelible/protocol';
import { type EventSearch, emptySearch } from './event-search.ts';

/**
 * The search of stored criteria, to show it in words; invalid criteria give an empty search.
 */
export function searchOfCriteria(criteria: EventCriteria): EventSearch {
  const parsed = parseFilterBody(criteria);
  if (!('filter' in parsed)) return { ...emptySearch, range: { kind: 'between' } };
  const { from, to, ...facets } = parsed.filter;
  const range = {
    kind: 'between' as const,
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  };
  return { ...emptySearch, facets, range };
}
