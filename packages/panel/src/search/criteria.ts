import type { EventCriteria } from '@indelible/client';
import { parseFilterBody } from '@indelible/protocol';
import { type EventSearch, emptySearch } from './event-search.ts';

/**
 * The search behind kept criteria, to be shown in words; criteria that are not understood are none.
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
