import { decodeEntry, type ListQuery } from '@indelible/protocol';
import type { TenantTx } from '../db.ts';
import { readEntries } from '../log/store.ts';
import type { Visibility } from './filter-sql.store.ts';
import { eventsById, type ListedRow } from './list.store.ts';

export interface SequencePage {
  rows: ListedRow[];
  /** The sequence to go on with, or null at the end of the log. */
  nextSequence: number | null;
}

const chunkEntries = 512;
// A rare filter must not walk the whole log in one request: the page then ends early, with a cursor.
const chunksMax = 20;

/**
 * One page in the order of the log. Sequence → id comes from the log itself, so the events need no
 * index on it; what retention has removed is passed over.
 */
export async function listBySequence(
  tx: TenantTx,
  query: ListQuery,
  visible: Visibility,
  from: number | null,
): Promise<SequencePage> {
  const ascending = query.order === 'asc';
  const first = query.afterSequence === undefined ? 0 : query.afterSequence + 1;
  let at = from ?? (ascending ? first : visible.size - 1);
  const rows: ListedRow[] = [];
  for (let chunk = 0; chunk < chunksMax; chunk++) {
    const [start, end] = ascending
      ? [at, Math.min(at + chunkEntries, visible.size)]
      : [Math.max(first, at - chunkEntries + 1), at + 1];
    if (start >= end) return { rows, nextSequence: null };
    rows.push(...(await matching(tx, query, visible, start, end)));
    at = ascending ? end : start - 1;
    const overflow = rows[query.limit];
    if (overflow) return { rows: rows.slice(0, query.limit), nextSequence: overflow.sequence };
    if (rows.length === query.limit) break;
  }
  const ended = ascending ? at >= visible.size : at < first;
  return { rows, nextSequence: ended ? null : at };
}

async function matching(
  tx: TenantTx,
  query: ListQuery,
  visible: Visibility,
  start: number,
  end: number,
) {
  const entries = await readEntries(tx, start, end);
  const uuids = entries.map((entry) => decodeEntry(entry).eventUuid);
  const rows = await eventsById(tx, uuids, query.filter, visible, query.include.state);
  const sign = query.order === 'asc' ? 1 : -1;
  return rows.sort((a, b) => sign * (a.sequence - b.sequence));
}
