import type { AuditEvent } from '@indelible/client';
import {
  type FacetName,
  facets,
  filterToJson,
  isEmail,
  namedFilters,
  only,
  revealed,
} from '@indelible/protocol';
import { useQueries, useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { client } from '../api.ts';
import { actorLabel } from '../components/Parties.tsx';
import { type Texts, useTexts } from '../i18n/texts.tsx';
import {
  type EventSearch,
  everything,
  type Facets,
  filterAt,
  withoutFacet,
} from './event-search.ts';
import type { Choice } from './use-choices.ts';

/** Events read for their names, newest first. */
const eventsRead = 100;

type Named = (event: AuditEvent, t: Texts) => [string, string | null];

/** The value of the filter that an event has, and how people call it. */
const named: Partial<Record<FacetName, Named>> = {
  user: (event, t) => {
    const { email, id, name } = event.actor;
    if (email) return [email.toLowerCase(), name ? `${name} · ${email}` : email];
    return [id, name ?? actorLabel(event, t)];
  },
  resourceId: ({ resource }) => [resource.id, resource.name],
};

/**
 * Persons and resources by name: those of the newest events, whose names any part of a word finds,
 * and of the newest events that have the typed words, in the search and in the whole log. Empty for
 * other filters. `text` has rested: each request of an operator is recorded.
 */
export function useNamed(
  facet: FacetName,
  search: EventSearch,
  nowMs: number,
  text: string,
): Choice[] {
  const t = useTexts();
  const others = { ...search, facets: withoutFacet(search.facets, facet) };
  const data = useQueries({
    queries: searchesFor(others, text).map((each) => {
      const query = { ...filterToJson(filterAt(each, nowMs)), limit: eventsRead };
      return {
        queryKey: ['named', facet, query],
        enabled: facet in named,
        queryFn: async () => (await client.page(query)).data,
      };
    }),
    combine: (answers) => answers.flatMap((answer) => answer.data ?? []),
  });
  const choices = new Map<string, Choice>();
  for (const event of data) {
    const choice = choiceIn(facet, event, t);
    if (choice && !choices.has(choice.value)) choices.set(choice.value, choice);
  }
  return [...choices.values()];
}

/** The searches whose newest events are read for names, each once. */
function searchesFor(others: EventSearch, text: string): EventSearch[] {
  const words = facets.q.normalise(text);
  if (words === null) return [others];
  const q = { q: only(words) };
  const isAll = others.range.kind === 'last' && others.range.preset === 'all';
  const isEverywhere = isAll && Object.keys(others.facets).length === 0;
  const within = isEverywhere ? [] : [{ ...others, facets: { ...others.facets, ...q } }];
  return [others, ...within, { ...everything, facets: q }];
}

/** The value that an event has, if people call it anything. */
function choiceIn(facet: FacetName, event: AuditEvent, t: Texts): Choice | undefined {
  const [value = '', label = null] = named[facet]?.(event, t) ?? [];
  return label === null ? undefined : { value, label: revealed(label), count: null };
}

/** How people call those values of a filter that are ids, as the newest event with each says. */
export function useNamesOf(facet: FacetName, chosen: Facets) {
  const t = useTexts();
  const { any = [], none = [] } = chosen[facet] ?? {};
  const ids = named[facet] ? [...any, ...none].filter((value) => !isEmail(value)) : [];
  return useQueries({
    queries: ids.map((id) => newestWith(facet, id, chosen)),
    combine: (answers) => {
      const labelOf = (event: AuditEvent | null | undefined) =>
        event ? choiceIn(facet, event, t)?.label : undefined;
      return new Map(ids.map((id, at) => [id, labelOf(answers[at]?.data)]));
    },
  });
}

/** The newest event of the whole log that has this value of a filter; null if none has it. */
function newestWith(facet: FacetName, value: string, { resource }: Facets) {
  // The host's own id of a resource is one of its type.
  const type = facet === 'resourceId' && resource ? { resource } : {};
  const query = filterToJson({ ...type, [facet]: only(value) });
  return {
    queryKey: ['name', facet, query],
    queryFn: async () => (await client.page({ ...query, limit: 1 })).data[0] ?? null,
  };
}

/** Whether a person or resource occurs in no event; false as long as that is not known. */
export function useUnknown(facet: FacetName, value: string | null, chosen: Facets): boolean {
  const enabled = value !== null && namedFilters.some((name) => name === facet);
  return useQuery({ ...newestWith(facet, value ?? '', chosen), enabled }).data === null;
}

/** The text after a pause in typing, because each request of an operator is recorded. */
export function useRested(text: string): string {
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
