import { type CountedFacet, firstUuidAt, uuidTimeMs } from '@indelible/protocol';
import type { TenantTx } from '../postgres/db.ts';
import { readAhead } from '../postgres/read-ahead.ts';
import { type CountedValue, kindOf } from './block-words.ts';
import { type BlockQuery, type CountedBlock, countBlock, lastAddresses } from './count-block.ts';
import { blocksWithMatches } from './find-words.ts';
import type { GroupCounts } from './group-counts.ts';
import { idsOfEvents } from './offsets.store.ts';
import { type BlockRange, blocksBetween, readLists } from './store.ts';
import { countBefore, offsetsOfTimes } from './time-offsets.ts';
import { largeEntries, listsOf, mediumEntries, smallEntries } from './word-block.ts';
import { listOf, wordOfValue } from './word-lists.ts';

/** A block among others in an order. */
interface OrderedBlock extends BlockRange {
  /** No block behind it has an event from then on. */
  settledMs: number;
}

/** The events of the range of a query are at the offsets `low` to `high`. */
interface LocatedBlock extends OrderedBlock, Pick<CountedBlock, 'low' | 'high'> {
  /** The offset of `settledMs`. */
  settled: number;
}

/** What is counted by reading blocks, the newest first, and the ids of further events in blocks. */
export interface BlocksToCount {
  query: BlockQuery;
  blocks: LocatedBlock[];
  /** Of blocks that have so few in the range that their rows are read sooner. */
  few: string[];
}

export async function blocksToCount(tx: TenantTx, query: BlockQuery): Promise<BlocksToCount> {
  const ranges = await blocksBetween(tx, firstUuidAt(query.fromMs), firstUuidAt(query.beforeMs));
  // All values of a block may be megabytes.
  const matching = await blocksWithMatches(tx, query.filter, ranges);
  const ordered = matching.map((block, nth) => {
    const next = matching[nth + 1];
    return { ...block, settledMs: next === undefined ? 0 : uuidTimeMs(next.newest) + 1 };
  });
  const blocks = await locate(tx, ordered, query);
  const hasFew = ({ low, high, entries }: LocatedBlock) => high - low <= entries / 1_024;
  const few = blocks
    .filter(hasFew)
    .flatMap(({ first, low, high }) =>
      Array.from({ length: high - low }, (_, n) => ({ first, offset: low + n })),
    );
  const others = blocks.filter((block) => !hasFew(block));
  return { query, blocks: others, few: await idsOfEvents(tx, few) };
}

async function locate(
  tx: TenantTx,
  blocks: readonly OrderedBlock[],
  { keys, fromMs, beforeMs }: BlockQuery,
): Promise<LocatedBlock[]> {
  const asked = blocks.map((block) => {
    const settledMs = keys.includes('user') ? block.settledMs : 0;
    return { block, times: [fromMs, beforeMs, settledMs] };
  });
  const offsets = await offsetsOfTimes(tx, asked);
  return blocks.map((block, nth) => {
    const [low = 0, high = 0, settled = 0] = offsets[nth] ?? [];
    return { ...block, low, high, settled };
  });
}

/** Counts the events of blocks; stops soon after `groupsMax` groups. */
export async function countInBlocks(
  tx: TenantTx,
  { query, blocks }: BlocksToCount,
  counts: GroupCounts,
  groupsMax: number,
): Promise<void> {
  const facets = query.keys.filter((key) => key !== 'time');
  const values = new Set([...facets, ...(Object.keys(query.filter) as CountedFacet[])]);
  // A few blocks have the addresses of most users: they are not read of the other ones.
  const enough = query.keys.includes('user') ? mediumEntries : portionMax;
  async function* portions() {
    for (const some of portionsOf(blocks, enough)) {
      const [lists, buckets] = await Promise.all([
        listsOfValues(tx, some, values),
        bucketsOf(tx, some, query.starts),
      ]);
      yield buckets.map((block) => ({ ...block, lists: lists.get(block.first) ?? [] }));
    }
  }
  // PostgreSQL and the service work at the same time.
  for await (const some of readAhead(portions(), 1)) {
    if (counts.size > groupsMax) return;
    const open = some.filter((block) => countBlock(block, query, counts));
    if (open.length > 0) await seeAddresses(tx, open, query, counts);
  }
}

const portionMax = 4 * largeEntries;

/**
 * Blocks that are read together, with `enough` entries, then more: requests of others get the
 * processor in between.
 */
function* portionsOf<Block extends { entries: number }>(blocks: readonly Block[], enough: number) {
  let some: Block[] = [];
  let entries = 0;
  for (const block of blocks) {
    some.push(block);
    entries += block.entries;
    if (entries < enough) continue;
    yield some;
    [some, entries, enough] = [[], 0, Math.min(portionMax, 16 * enough)];
  }
  if (some.length > 0) yield some;
}

/** Not of all blocks at once: each may have events of all buckets, of which there are thousands. */
async function bucketsOf<Block extends BlockRange>(
  tx: TenantTx,
  blocks: readonly Block[],
  starts: readonly number[],
): Promise<(Block & Pick<CountedBlock, 'bucket' | 'bucketOffsets'>)[]> {
  const asked = blocks.map((block) => {
    const bucket = countBefore(starts, block.oldestMs + 1);
    const end = countBefore(starts, uuidTimeMs(block.newest) + 1);
    return { block, bucket, times: starts.slice(bucket, end) };
  });
  const offsets = await offsetsOfTimes(tx, asked);
  return asked.map(({ block, bucket }, nth) => ({
    ...block,
    ...{ bucket, bucketOffsets: offsets[nth] ?? [] },
  }));
}

/** By the first sequence of a block: its lists of these values. */
async function listsOfValues(
  tx: TenantTx,
  blocks: readonly BlockRange[],
  values: ReadonlySet<CountedValue>,
): Promise<Map<number, Buffer[]>> {
  const wanted = blocks.flatMap(({ first, entries }) => {
    const words = [...values].map((value) => wordOfValue(kindOf(value), ''));
    const lists = new Set(words.map((word) => listOf(word, listsOf(entries))));
    return [...lists].map((list) => ({ first, list }));
  });
  const rows = await readLists(tx, wanted, Number.MAX_SAFE_INTEGER);
  const byBlock = Map.groupBy(rows, ({ first }) => first);
  return new Map(
    [...byBlock].map(([first, own]) => [first, own.flatMap((row) => row.words ?? [])]),
  );
}

/** Finds the last addresses of users in these blocks, the newest first. */
async function seeAddresses(
  tx: TenantTx,
  blocks: readonly (LocatedBlock & CountedBlock)[],
  query: BlockQuery,
  counts: GroupCounts,
): Promise<void> {
  // A small block has all values in one list.
  const larger = blocks.filter(({ entries }) => entries > smallEntries);
  const addresses = await listsOfValues(tx, larger, new Set(['address']));
  // Of users whose events in two blocks are from the same time.
  const unsure: { first: number; offset: number; user: number; address: string }[] = [];
  const isUnsure = new Set<number>();
  for (const block of blocks) {
    const { first, lists } = block;
    // Every event behind the offset is later than all events of the blocks that follow.
    const id = firstUuidAt(Math.max(block.oldestMs, block.settledMs, query.fromMs));
    const own = { ...block, lists: [...lists, ...(addresses.get(first) ?? [])] };
    for (const seen of lastAddresses(own, query, counts)) {
      const { user, offset, address } = seen;
      if (offset >= block.settled && counts.lastId(user) < id && !isUnsure.has(user)) {
        counts.sawAddress(user, id, address);
      } else {
        isUnsure.add(user);
        unsure.push({ first, ...seen });
      }
    }
  }
  const ids = await idsOfEvents(tx, unsure);
  for (const [at, { user, address }] of unsure.entries()) {
    counts.sawAddress(user, ids[at] ?? '', address);
  }
}
