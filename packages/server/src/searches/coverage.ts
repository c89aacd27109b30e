import {
  type Coverage,
  type EventFilter,
  formatTimestamp,
  namedFilters,
  namedValues,
  only,
  type UnknownValues,
} from '@indelible/protocol';
import { shownSince, type Visibility } from '../events/filter-sql.store.ts';
import { countEvents, countOrMore } from '../list/count.store.ts';
import { decodedEntries } from '../log/entries.store.ts';
import type { Gap, Source } from '../sources/store.ts';
import type { FrozenFilter } from './store.ts';

/** A source that numbered its events in a time range, and its gaps there. */
export type Covered = Pick<Source, 'id' | 'firstReceivedMs' | 'lastReceivedMs'> & {
  gaps: Gap[];
  /** Further gaps of the range may have been dropped for the limit. */
  gapsDropped: boolean;
};

/**
 * The sources from which events were received in the range, before its end and after its start. A
 * gap concerns the range if one of the two receipts around it, or the time between, is inside.
 */
export function coverageOf(
  sources: readonly Source[],
  { from, to }: { from: number; to: number },
): Covered[] {
  return sources
    .filter(({ firstReceivedMs, lastReceivedMs }) => firstReceivedMs < to && lastReceivedMs >= from)
    .map(({ id, firstReceivedMs, lastReceivedMs, gapsDroppedMs, gaps }) => ({
      id,
      firstReceivedMs,
      lastReceivedMs,
      gaps: gaps.filter(({ afterMs, noticedMs }) => afterMs < to && noticedMs >= from),
      gapsDropped: gapsDroppedMs !== null && gapsDroppedMs >= from,
    }));
}

/**
 * What a search with this filter could find at all. A person without any event may be misspelt, and
 * a range without any event may be one in which nothing was recorded.
 */
export async function readCoverage(filter: FrozenFilter, visible: Visibility): Promise<Coverage> {
  const received = (await decodedEntries(visible.tx, 0, 1)).map(({ receivedAtUs }) => receivedAtUs);
  const { from, to } = filter;
  const totals: Coverage['totals'] = [];
  for (const name of namedFilters) {
    for (const value of filter[name]?.any ?? []) {
      const events = await countOrMore({ [name]: only(value) }, visible);
      totals.push({ filter: name, value, events });
    }
  }
  return {
    logBeganAt: formatTimestamp(Math.floor(Math.min(...received) / 1000)),
    shownFrom: formatTimestamp(shownSince(visible).getTime()),
    eventsInRange: await countOrMore({ from, to }, visible),
    totals,
  };
}

/** The persons and resources that a filter asks for and that no event has which the plan shows. */
export async function findUnknown(asked: EventFilter, visible: Visibility): Promise<UnknownValues> {
  const unknown: UnknownValues = {};
  for (const { name, value, alone } of namedValues(asked, visible.tx.tenantId)) {
    if ((await countEvents(alone, visible, 0)) > 0) continue;
    unknown[name] = [...(unknown[name] ?? []), value];
  }
  return unknown;
}
