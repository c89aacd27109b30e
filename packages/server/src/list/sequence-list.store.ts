import type { ListQuery } from '@indelible/protocol';
import type { Visibility } from '../events/filter-sql.store.ts';
import { type ListedRow, pageBytesMax } from '../events/listed-row.ts';
import { eventsBetween } from '../log/entries.store.ts';
import { wordsInLog } from '../words/find-words.ts';
import { eventsById } from './list.store.ts';

const chunkEntries = 512;
// A filter with few matches must not read the whole log in one request: the page ends early, with a
// cursor.
const chunksMax = 20;

/**
 * One page in the order of the log. The log maps sequences to ids, so events need no index on it;
 * removed events are skipped. `nextSequence` is the next one to read, null at the end of the log.
 */
export async function listBySequence(
  query: ListQuery,
  visible: Visibility,
  from: number | null,
): Promise<{ rows: ListedRow[]; nextSequence: number | null }> {
  const ascending = query.order === 'asc';
  const first = query.afterSequence === undefined ? 0 : query.afterSequence + 1;
  const { q, ...filter } = query.filter;
  const among = q && (await wordsInLog(visible.tx, { ...filter, q }));
  const rows: ListedRow[] = [];
  let bytes = 0;
  // A log that was reopened may be shorter than where a cursor stands.
  let at = ascending ? (from ?? first) : Math.min(from ?? visible.size, visible.size - 1);
  for (let chunk = 0; chunk < chunksMax && rows.length < query.limit; chunk++) {
    const [start, end] = ascending
      ? [at, Math.min(at + chunkEntries, visible.size)]
      : [Math.max(first, at - chunkEntries + 1), at + 1];
    if (start >= end) return { rows, nextSequence: null };
    const wanted = { ...query, filter, limit: query.limit - rows.length };
    const uuids = await eventsBetween(visible.tx, start, end);
    const some = among ? await among(start, uuids) : uuids;
    const found = await eventsById(some, wanted, visible, pageBytesMax - bytes);
    const [next] = found.rows;
    bytes += found.bytes;
    // Only the first event of a page may be larger than the page.
    if (next && rows.length > 0 && bytes > pageBytesMax)
      return { rows, nextSequence: next.sequence };
    rows.push(...found.rows);
    const last = found.rows.at(-1);
    if (found.more && last) return { rows, nextSequence: last.sequence + (ascending ? 1 : -1) };
    at = ascending ? end : start - 1;
  }
  const ended = ascending ? at >= visible.size : at < first;
  return { rows, nextSequence: ended ? null : at };
}
