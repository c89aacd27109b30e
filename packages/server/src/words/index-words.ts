import { givingWay } from '../http/giving-way.ts';
import { eventsBetween } from '../log/entries.store.ts';
import {
  type Database,
  mayPause,
  readTenant,
  type WriterTx,
  writeInBackground,
} from '../postgres/db.ts';
import {
  deleteBlocks,
  idsOfBlocks,
  insertBlocks,
  listsBetween,
  listsInBlocks,
  lockWords,
  setWordsSize,
  tenantsToIndex,
  wordedEvents,
  wordsProgress,
} from './store.ts';
import {
  largeEntries,
  listsOf,
  makeBlock,
  mediumEntries,
  smallEntries,
  uniteIds,
  uniteLists,
  type WordBlock,
} from './word-block.ts';

/**
 * In one transaction. So many entries of a tenant may wait while recording is busy: searches read
 * them themselves.
 */
export const entriesAtOnce = mediumEntries;

/**
 * Puts the words of new entries into blocks, until there is nothing to do. While recording is busy,
 * gives it the processor: only tenants behind by `entriesAtOnce` are continued. A crash costs the
 * transaction of the moment; the next run continues. A tenant whose blocks cannot be made, as while
 * its archive cannot be read, waits for the next run; the first such error is thrown at the end.
 */
export async function indexWords(
  db: Database,
  isRecordingBusy: () => boolean,
  stopping: AbortSignal,
): Promise<boolean> {
  const failed = new Map<string, unknown>();
  await indexSearched(db, stopping).catch((error: unknown) => failed.set('searched', error));
  for (let isIdle = false; !isIdle; ) {
    const wasBusy = isRecordingBusy();
    const waiting = wasBusy ? entriesAtOnce : 1;
    const tenants = await tenantsToIndex(db.background, waiting, [...failed.keys()]);
    isIdle = true;
    for (const tenantId of tenants) {
      if (stopping.aborted) return true;
      try {
        if (await indexNext(db, tenantId)) isIdle = false;
      } catch (error) {
        failed.set(tenantId, error);
        isIdle = false; // others may wait behind a hundred such tenants
      }
      if (isRecordingBusy() && !wasBusy) break;
    }
  }
  for (const error of failed.values()) throw error;
  return true;
}

/**
 * Puts the newest events that searches of this process were long reading into blocks, though there
 * are few: the next search does not read them.
 */
export async function indexSearched(db: Database, stopping: AbortSignal): Promise<boolean> {
  for (const tenantId of db.toIndex) {
    if (stopping.aborted) return true;
    db.toIndex.delete(tenantId);
    await indexNext(db, tenantId, true);
  }
  return true;
}

/**
 * The next blocks of a tenant: the last one of fewer entries if `isToEnd`. False if there are none
 * to make, or another process makes them.
 */
function indexNext(db: Database, tenantId: string, isToEnd = false): Promise<boolean> {
  return writeInBackground(db, async (tx) => {
    await mayPause(tx); // 64 large events may take 20 s of processor time
    // Before the snapshot of the read: what was erased before this lock is not read any more.
    const start = await lockWords(tx, tenantId, false);
    if (start === null) return false;
    const blocks = await nextBlocks(db, tenantId, start, isToEnd);
    if (blocks.length === 0) return false;
    await insertBlocks(tx, tenantId, blocks);
    const end = blocks.reduce((sum, { entries }) => sum + entries, start);
    await setWordsSize(tx, tenantId, end);
    const firstSmall = start - (start % smallEntries);
    if (firstSmall < start && firstSmall + smallEntries <= end)
      await unite(tx, tenantId, firstSmall, smallEntries);
    const isMedium = blocks[0]?.entries === mediumEntries;
    if (end % mediumEntries === 0 && !isMedium)
      await unite(tx, tenantId, end - mediumEntries, mediumEntries);
    if (end % largeEntries === 0) await unite(tx, tenantId, end - largeEntries, largeEntries);
    return true;
  });
}

/** In one transaction. Blocks with more stay apart. */
const bytesMax = 16 * 2 ** 20;

/**
 * A medium one if there are entries enough, else small ones; of fewer entries if they are large.
 * Fewer entries than there are if their blocks take much memory together.
 */
function nextBlocks(
  db: Database,
  tenantId: string,
  start: number,
  isToEnd: boolean,
): Promise<WordBlock[]> {
  return readTenant(db, tenantId, async (tx) => {
    await mayPause(tx);
    const { size } = await wordsProgress(tx);
    const unitedEnd = start - (start % mediumEntries) + mediumEntries;
    const end = Math.min(unitedEnd, isToEnd ? size : size - (size % smallEntries));
    const uuids = await eventsBetween(tx, start, end);
    let each = end - start === mediumEntries ? mediumEntries : smallEntries;
    const blocks: WordBlock[] = [];
    const giveWay = givingWay();
    for (let [first, bytes] = [start, 0]; first < end && bytes < bytesMax; ) {
      const next = Math.min(end, first - (first % each) + each);
      const events = wordedEvents(tx, uuids.slice(first - start, next - start));
      const block = await makeBlock(first, next - first, events, giveWay);
      if (typeof block === 'number') {
        // Only blocks with equal numbers of lists can be united: no larger ones than small ones.
        each = Math.min(smallEntries, each / 2, 2 ** Math.floor(Math.log2(Math.max(1, block))));
        continue;
      }
      blocks.push(block);
      bytes += block.lists.reduce((sum, { words }) => sum + words.length, 0);
      first = next;
    }
    return blocks;
  });
}

/**
 * Replaces the blocks from `first` on by one with so many entries, unless they are large; a list
 * takes milliseconds.
 */
async function unite(
  tx: WriterTx,
  tenantId: string,
  first: number,
  entries: number,
): Promise<void> {
  const end = first + entries;
  const numbers = await listsBetween(tx, tenantId, first, end);
  if (numbers.reduce((sum, { bytes }) => sum + bytes, 0) > bytesMax) return;
  const blocks = await idsOfBlocks(tx, tenantId, first, end);
  // Small ones that stayed apart may have lost words since.
  if (new Set(blocks.map((block) => listsOf(block.entries))).size > 1) return;
  const { ids, moved } = uniteIds(blocks.map((block) => block.ids));
  const blockOf = new Map(
    blocks.map(({ first, entries }, at) => [first, { entries, moved: moved[at] as Uint32Array }]),
  );
  const lists: WordBlock['lists'] = [];
  for (const { list } of numbers) {
    const stored = await listsInBlocks(tx, tenantId, [list], first, end);
    const united = stored.map(({ first, words }) => {
      const block = blockOf.get(first);
      if (block === undefined) throw new Error('a word list belongs to no block');
      return { words, ...block };
    });
    lists.push(...uniteLists(united, entries));
  }
  await deleteBlocks(tx, tenantId, first, end);
  await insertBlocks(tx, tenantId, [{ first, entries, ids, lists }]);
}
