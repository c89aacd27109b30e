import { filterToJson } from '@indelible/protocol';
import { useQuery } from '@tanstack/react-query';
import { useCallback, useMemo, useState } from 'react';
import { client } from '../api.ts';
import { useLate } from '../components/States.tsx';
import { serviceNow } from '../service-clock.ts';
import { type EventSearch, eventSearchParams, filterAt } from './event-search.ts';

export const pageSize = 50;
const formerRowsMs = 2_000;

/** The end of a relative range: the time of opening or refreshing the search, or the address's. */
export function useMoment(search: EventSearch): { nowMs: number; refresh: () => void } {
  const [refreshes, setRefreshes] = useState(0);
  const { cursor: _cursor, page: _page, view: _view, ...rest } = search;
  const key = JSON.stringify(eventSearchParams({ ...rest, page: 1 }));
  // biome-ignore lint/correctness/useExhaustiveDependencies: another search is a later moment
  const nowMs = useMemo(() => serviceNow(), [key, refreshes]);
  const refresh = useCallback(() => setRefreshes((count) => count + 1), []);
  const { range } = search;
  return { nowMs: range.kind === 'last' ? (range.at ?? nowMs) : nowMs, refresh };
}

/** One page of events, with how many match in all. */
export function useEventPage(search: EventSearch, nowMs: number) {
  const { sort, order, cursor } = search;
  const criteria = filterToJson(filterAt(search, nowMs));
  const position = cursor === undefined ? {} : { cursor };
  const query = { ...criteria, sort, order, limit: pageSize, includeTotal: true, ...position };
  const answer = useQuery({
    queryKey: ['events', query],
    queryFn: () => client.page(query),
    // The list stays visible, dimmed, while the next page loads. An empty one does not: it would
    // say that this search found nothing.
    placeholderData: (former) => (former?.data.length === 0 ? undefined : former),
  });
  // Rows of the former search must not be taken for those of this one.
  const isStale = useLate(answer.isPlaceholderData, formerRowsMs);
  return { ...answer, ...(isStale && { data: undefined, isPending: true }) };
}

export function useEvent(id: string) {
  return useQuery({
    queryKey: ['event', id],
    queryFn: () => client.get(id),
    staleTime: Number.POSITIVE_INFINITY, // an event never changes
  });
}
