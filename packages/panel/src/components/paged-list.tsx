import { useInfiniteQuery } from '@tanstack/react-query';
import { ChevronDown } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import type { Page } from '../api.ts';
import { useTexts } from '../i18n/texts.tsx';
import { Button } from './Button.tsx';
import { type Query, QueryState } from './States.tsx';

interface ListProps<Item> {
  /** Undefined: not loaded. */
  items: readonly Item[] | undefined;
  children: (item: Item) => ReactNode;
}

/** A list with a frame and lines between its items. */
export function List<Item>({ items, children }: ListProps<Item>) {
  return (
    <ul className="divide-y divide-line rounded-xl border border-line">{items?.map(children)}</ul>
  );
}

interface LoadedListProps<Item> extends ListProps<Item> {
  query: Query & Partial<OlderButtonProps['list']>;
  /** In place of an empty list. */
  none: ReactNode;
  /** Lines of the skeleton while the list loads. */
  lines?: number;
}

/** The items of a query: while it loads, if it fails, without items, and with the next page. */
export function LoadedList<Item>({ query, none, lines, ...list }: LoadedListProps<Item>) {
  const { hasNextPage = false, isFetchingNextPage = false, fetchNextPage } = query;
  const { items = [] } = list;
  return (
    <>
      <QueryState query={query} lines={lines} />
      {list.items && (items.length === 0 ? none : <List {...list} />)}
      {fetchNextPage && <OlderButton list={{ hasNextPage, isFetchingNextPage, fetchNextPage }} />}
    </>
  );
}

interface ListedBy<Item> {
  /** One page, newest first; `null` asks for the first one. */
  list: (cursor: string | null) => Promise<Page<Item>>;
  /** How long to wait before the next request, or false; gets the items listed so far. */
  askAgainMs?: (items: readonly Item[]) => number | false;
}

/** A list page by page: `items` holds those of all loaded pages. */
export function usePages<Item>(queryKey: readonly string[], { list, askAgainMs }: ListedBy<Item>) {
  const query = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam }) => list(pageParam),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.pagination.nextCursor,
    staleTime: 0,
    refetchInterval: ({ state }) => askAgainMs?.(itemsOf(state.data?.pages)) ?? false,
  });
  return { ...query, items: query.data && itemsOf(query.data.pages) };
}

function itemsOf<Item>(pages: readonly Page<Item>[] = []): Item[] {
  return pages.flatMap(({ data }) => data);
}

interface OlderButtonProps {
  list: { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => unknown };
}

/** Loads the next page below a list, if there is one. */
export function OlderButton({ list }: OlderButtonProps) {
  const t = useTexts();
  if (!list.hasNextPage) return null;
  return (
    <div className="no-print mt-3 flex justify-end">
      <Button disabled={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
        {t.buttons.older}
        <ChevronDown aria-hidden />
      </Button>
    </div>
  );
}

/** The first `step` of a list; `more` shows as many again. */
export function useShown<Item>(items: readonly Item[], step: number) {
  const [count, setCount] = useState(step);
  const more = { left: Math.max(0, items.length - count), show: () => setCount(count + step) };
  return { shown: items.slice(0, count), more };
}

export function MoreButton({ left, show }: { left: number; show: () => void }) {
  const t = useTexts();
  if (left === 0) return null;
  return (
    <Button className="no-print mt-3" Icon={ChevronDown} onClick={show}>
      {t.sensitiveAccess.more({ count: left })}
    </Button>
  );
}
