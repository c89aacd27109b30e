import { eventIdFromUuid, formatTimestamp, type ShownEvent, uuidTimeMs } from '@indelible/protocol';
import type { StoredEvent } from './prepared-event.ts';
import type { SearchCopies } from './read-columns.store.ts';

/**
 * A row of a list; states are null unless requested, `hasState` shows whether they exist. The
 * copies that searches compare come with the states.
 */
export type ListedRow = StoredEvent & {
  hasState: boolean;
  emailKey: string;
} & Partial<SearchCopies>;

/** The event as filters are compared with it. */
export const shownOf = (row: ListedRow): ShownEvent => ({
  ...row,
  id: eventIdFromUuid(row.uuid),
  timestamp: formatTimestamp(uuidTimeMs(row.uuid)),
  receivedAt: formatTimestamp(row.receivedAtMs),
});

export interface ListedPage {
  rows: ListedRow[];
  /** Whether there are more events in this direction. */
  more: boolean;
}

export interface CutPage extends ListedPage {
  /** Approximate size of the rows as JSON. */
  bytes: number;
}

/** A page ends at this size, whatever its limit. */
export const pageBytesMax = 8 * 2 ** 20;
