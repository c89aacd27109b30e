import type { EventCriteria } from '@indelible/client';
import {
  type EventFilter,
  facetNames,
  formatTimestamp,
  parseFilterBody,
} from '@indelible/protocol';
import { type EventSearch, emptySearch } from './event-search.ts';

/** A filter as the client takes it; also the `filters` of exports and saved searches. */
export function criteriaOf(filter: EventFilter): EventCriteria {
  const criteria: EventCriteria = {};
  if (filter.from !== undefined) criteria.from = formatTimestamp(filter.from);
  if (filter.to !== undefined) criteria.to = formatTimestamp(filter.to);
  for (const facet of facetNames) {
    const { any = [], none = [] } = filter[facet] ?? {};
    const texts = [...any, ...none.map((value) => `!${value}`)];
    if (texts.length > 0) criteria[facet] = texts;
  }
  return criteria;
}

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
