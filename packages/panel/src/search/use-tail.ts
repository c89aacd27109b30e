import type { AuditEvent } from '@indelible/client';
import { filterToJson } from '@indelible/protocol';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';
import { client } from '../api.ts';
import { useSession } from '../session/session-context.tsx';
import { type EventSearch, filterAt } from './event-search.ts';

const pollMs = 5_000;
const eventsMax = 100;
/** Entries before the newest one that the first poll reads again: the list may not have them. */
const overlap = 50;
/** Half of the time after which a session without use ends: polling must not keep it open. */
const unusedMs = 15 * 60_000;

interface Tail {
  events: readonly AuditEvent[];
  after: number;
}

interface ListedPage {
  data: readonly AuditEvent[];
  pagination: { nextCursor: string | null };
}

/** Whether newer events would be on top of the list: its first page, newest first, up to now. */
function isOpenEnded({ range, sort, order, cursor }: EventSearch): boolean {
  const upToNow = range.kind === 'last' && range.at === undefined;
  return upToNow && sort === 'timestamp' && order === 'desc' && cursor === undefined;
}

/**
 * Matching events recorded since the list was loaded, newest first; null where newer events would
 * not be on top. Asks in the order of the log, so that a late event is found too; not while the tab
 * is hidden or unused, and not for an operator, whose every look the tenant's log records.
 */
export function useTail(search: EventSearch, nowMs: number, page: ListedPage | undefined) {
  const queries = useQueryClient();
  const { crossTenant } = useSession();
  const isUsed = useIsUsed();
  const { to: _open, ...filter } = filterAt(search, nowMs);
  const queryKey = ['tail', filterToJson(filter), nowMs];
  const isOffered = isOpenEnded(search) && !crossTenant;
  const { data, isError } = useQuery({
    queryKey,
    queryFn: () => readOn(filterToJson(filter), queries.getQueryData<Tail>(queryKey)),
    enabled: isOffered && isUsed && page !== undefined,
    refetchInterval: pollMs,
  });
  const events = useMemo(() => data?.events.filter(isMissingIn(page)) ?? [], [data, page]);
  return isOffered ? { events, isError } : null;
}

async function readOn(criteria: object, former: Tail | undefined): Promise<Tail> {
  const newest = await client.page({ sort: 'sequence', order: 'desc', limit: 1 });
  const head = newest.data[0]?.sequence ?? -1;
  const after = former?.after ?? head - overlap;
  if (former && head <= after) return former;
  const from = after < 0 ? {} : { afterSequence: after };
  const query = {
    ...criteria,
    ...from,
    sort: 'sequence',
    order: 'desc',
    limit: eventsMax,
  } as const;
  const { data } = await client.page(query);
  const events = [...data, ...(former?.events ?? [])].slice(0, eventsMax);
  // An event may have been recorded between the two answers.
  return { events, after: Math.max(head, data[0]?.sequence ?? head) };
}

/** An event before the last one of the page is on a further page, not new. */
function isMissingIn(page: ListedPage | undefined): (event: AuditEvent) => boolean {
  const listed = new Set(page?.data.map(({ id }) => id));
  const oldest = page?.pagination.nextCursor ? (page.data.at(-1)?.timestamp ?? '') : '';
  return ({ id, timestamp }) => page !== undefined && !listed.has(id) && timestamp > oldest;
}

/** Whether the reader has touched the page within the last minutes. */
function useIsUsed(): boolean {
  const [isUsed, setUsed] = useState(true);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>;
    const use = () => {
      clearTimeout(timer);
      timer = setTimeout(() => setUsed(false), unusedMs);
      setUsed(true);
    };
    const signs = ['pointermove', 'pointerdown', 'keydown'] as const;
    use();
    for (const sign of signs) window.addEventListener(sign, use);
    return () => {
      clearTimeout(timer);
      for (const sign of signs) window.removeEventListener(sign, use);
    };
  }, []);
  return isUsed;
}
