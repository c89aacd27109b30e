import type { AuditEvent } from '@indelible/client';
import { type FacetName, facets, filterToJson, revealed } from '@indelible/protocol';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { client } from '../api.ts';
import { type EventSearch, filterAt, withoutFacet } from './event-search.ts';
import type { Choice } from './use-choices.ts';

/** Events read for their names, newest first. */
const eventsRead = 100;

/** The value of the filter that an event has, and how people call it. */
const named: Partial<Record<FacetName, (event: AuditEvent) => [string, ...(string | null)[]]>> = {
  user: ({ actor }) => [actor.email?.toLowerCase() ?? actor.id, actor.name ?? null, actor.email],
  resourceId: ({ resource }) => [resource.id, resource.name],
};

/**
 * Persons and resources by name: those of the newest events that have the typed words, or of the
 * newest events until something is typed. Empty for other filters.
 */
export function useNamed(
  facet: FacetName,
  search: EventSearch,
  nowMs: number,
  text: string,
): Choice[] {
  const namesOf = named[facet];
  const words = facets.q.normalise(useRested(text));
  const others = withoutFacet(search.facets, facet);
  const q = words === null ? {} : { q: { any: [words], none: [] } };
  const filter = filterAt({ ...search, facets: { ...others, ...q } }, nowMs);
  const query = { ...filterToJson(filter), limit: eventsRead };
  const { data = [] } = useQuery({
    queryKey: ['named', facet, query],
    enabled: namesOf !== undefined,
    queryFn: async () => (await client.page(query)).data,
  });
  const choices = new Map<string, Choice>();
  for (const event of data) {
    const [value = '', ...names] = namesOf?.(event) ?? [];
    const label = names.filter((name) => typeof name === 'string').join(' · ');
    if (label === '' || choices.has(value)) continue;
    choices.set(value, { value, label: revealed(label), count: null });
  }
  return [...choices.values()];
}

/** The text after a pause in typing, because each request of an operator is recorded. */
function useRested(text: string): string {
  const [rested, setRested] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setRested(text), 300);
    return () => clearTimeout(timer);
  }, [text]);
  return rested;
}

/** The counted values under their names, then those that were found by name alone. */
export function withNames(counted: readonly Choice[], found: readonly Choice[]): Choice[] {
  const labels = new Map(found.map(({ value, label }) => [value, label]));
  const known = new Set(counted.map(({ value }) => value));
  return [
    ...counted.map((each) => ({ ...each, label: labels.get(each.value) ?? each.label })),
    ...found.filter(({ value }) => !known.has(value)),
  ];
}
