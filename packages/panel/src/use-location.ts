import { useLocation, useRouter } from '@tanstack/react-router';
import { useCallback, useMemo } from 'react';
import { withSearch } from './paths.ts';
import {
  type EventSearch,
  emptySearch,
  type Pairs,
  parseEventSearch,
} from './search/event-search.ts';

/** Opens an address of the panel, as a link does; a list stays where it is beside its event. */
export function useGo(): (href: string, options?: { replace?: boolean }) => void {
  const router = useRouter();
  return useCallback(
    (href, { replace = false } = {}) => {
      const { href: now } = router.history.location;
      const [list = ''] = href.split('/evt_');
      const isOfEvent = (now + href).includes('/evt_');
      if (isOfEvent && now.replace(/\/evt_\w+/, '').startsWith(list)) {
        void router.navigate({ href, replace, resetScroll: false });
      } else router.history[replace ? 'replace' : 'push'](href);
    },
    [router],
  );
}

export function usePath(): string {
  return useLocation({ select: ({ pathname }) => pathname });
}

export function useSearchPairs(): Pairs {
  const text = useLocation({ select: ({ searchStr }) => searchStr });
  return useMemo(() => [...new URLSearchParams(text)], [text]);
}

/** The search in the address, or its problems. */
export function useParsedSearch(): ReturnType<typeof parseEventSearch> {
  const pairs = useSearchPairs();
  return useMemo(() => parseEventSearch(pairs), [pairs]);
}

/** The search in the address, and a function that changes it on the same page. */
export function useEventSearch(): [EventSearch, (next: EventSearch) => void] {
  const parsed = useParsedSearch();
  const path = usePath();
  const go = useGo();
  const change = useCallback(
    (next: EventSearch) => {
      go(withSearch(path, next));
    },
    [go, path],
  );
  return ['search' in parsed ? parsed.search : emptySearch, change];
}
