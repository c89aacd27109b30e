import { uuidBytes, uuidFromBytes } from '@indelible/protocol';
import {
  decodeLists,
  encodeLists,
  entriesMax,
  listOf,
  listsOfSmall,
  type WordLists,
} from './word-lists.ts';

/** An event with its words. */
export interface WordedEvent {
  uuid: string;
  words: ReadonlySet<string>;
}

/**
 * The words of consecutive entries of a log. Its events are numbered by id; an offset is that
 * number.
 */
export interface WordBlock {
  /** Sequence of its first entry. */
  first: number;
  /** The number of its entries: less than `smallEntries` if they are large. */
  entries: number;
  /** 16 bytes for each event that is still stored, ascending. */
  ids: Buffer;
  lists: { list: number; words: Buffer }[];
}

/** Blocks are made of this many entries; 16 of them are united, and 16 of those again. */
export const smallEntries = 256;
export const mediumEntries = 4_096;
export const largeEntries = entriesMax;

/** The number of lists that the words of a block are spread over. */
export const listsOf = (entries: number): number =>
  entries <= smallEntries ? listsOfSmall : entries <= mediumEntries ? 128 : 1_024;

export const uuidLength = 16;

/** The UUID at an offset of `ids`. */
export const uuidAt = (ids: Buffer, offset: number) => uuidFromBytes(ids, offset * uuidLength);

/** Offset of the first id that is not lower. */
export function rankOf(ids: Buffer, uuid: string): number {
  const wanted = uuidBytes(uuid);
  let [low, high] = [0, ids.length / uuidLength];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const at = middle * uuidLength;
    if (ids.compare(wanted, 0, uuidLength, at, at + uuidLength) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A word of a block takes 200 bytes while the block is made, and 8 for each of its events. */
const wordCost = 16;
const costMax = 2 ** 23;

/**
 * A block of the events of these entries that are still stored; if it would take more than some 120
 * MiB while it is made, the number of events that do not. Keeps each word of the block once. Lets
 * others go on by `giveWay` in between.
 */
export async function makeBlock(
  first: number,
  entries: number,
  events: AsyncIterable<WordedEvent> | readonly WordedEvent[],
  giveWay: () => Promise<void>,
): Promise<WordBlock | number> {
  const uuids: string[] = [];
  const lists: WordLists[] = [];
  let cost = 0;
  for await (const { uuid, words } of events) {
    await giveWay();
    for (const word of words) {
      const offsets = offsetsIn(lists, entries, word);
      cost += offsets.length === 0 ? wordCost : 1;
      offsets.push(uuids.length);
    }
    // One event alone is always a block.
    if (cost > costMax && entries > 1) return uuids.length;
    uuids.push(uuid);
  }
  const sorted = [...uuids.entries()].sort(([, a], [, b]) => (a < b ? -1 : 1));
  const moved = new Uint32Array(uuids.length);
  for (const [offset, [at]] of sorted.entries()) moved[at] = offset;
  const ids = Buffer.concat(sorted.map(([, uuid]) => uuidBytes(uuid)));
  const block: WordBlock = { first, entries, ids, lists: [] };
  for (const [list, words] of lists.entries()) {
    await giveWay();
    for (const offsets of words?.values() ?? [])
      for (const [n, at] of offsets.entries()) offsets[n] = moved[at] as number;
    block.lists.push(...encoded([[list, words]], entries));
  }
  return block;
}

export interface UnitedIds {
  ids: Buffer;
  /** The new offset of each offset of each block. */
  moved: Uint32Array[];
}

/** The ids of several blocks as those of one. */
export function uniteIds(blocks: readonly Buffer[]): UnitedIds {
  const moved = blocks.map((ids) => new Uint32Array(ids.length / uuidLength));
  const all = blocks.flatMap((ids, block) =>
    Array.from({ length: ids.length / uuidLength }, (_, offset) => ({
      id: ids.subarray(offset * uuidLength, (offset + 1) * uuidLength),
      block,
      offset,
    })),
  );
  all.sort((a, b) => Buffer.compare(a.id, b.id));
  for (const [offset, each] of all.entries())
    (moved[each.block] as Uint32Array)[each.offset] = offset;
  return { ids: Buffer.concat(all.map(({ id }) => id)), moved };
}

/** One list of several blocks as lists of the one that they become; `moved` as in `UnitedIds`. */
export function uniteLists(
  blocks: readonly { words: Buffer; entries: number; moved: Uint32Array }[],
  entries: number,
): WordBlock['lists'] {
  const lists: WordLists[] = [];
  for (const { words, moved, ...block } of blocks) {
    for (const [word, offsets] of decodeLists(words, block.entries)) {
      const united = offsetsIn(lists, entries, word);
      for (const offset of offsets) united.push(moved[offset] as number);
    }
  }
  return encoded(lists.entries(), entries);
}

/** A list without what `isGone` names; null if nothing is left. */
export function rewritten(
  words: Buffer,
  entries: number,
  isGone: (word: string, offset: number) => boolean,
): Buffer | null {
  const left: WordLists = new Map();
  for (const [word, offsets] of decodeLists(words, entries)) {
    const kept = offsets.filter((offset) => !isGone(word, offset));
    if (kept.length > 0) left.set(word, kept);
  }
  return left.size === 0 ? null : encodeLists(left, entries);
}

/** The offsets of a word of a block, to add to. */
function offsetsIn(lists: (WordLists | undefined)[], entries: number, word: string): number[] {
  const list = listOf(word, listsOf(entries));
  const words = lists[list] ?? new Map<string, number[]>();
  lists[list] = words;
  const known = words.get(word);
  if (known !== undefined) return known;
  const offsets: number[] = [];
  words.set(word, offsets);
  return offsets;
}

function encoded(
  lists: Iterable<[list: number, words: WordLists | undefined]>,
  entries: number,
): WordBlock['lists'] {
  return [...lists].flatMap(([list, words]) => {
    if (words === undefined) return [];
    for (const offsets of words.values()) offsets.sort((a, b) => a - b);
    return [{ list, words: encodeLists(words, entries) }];
  });
}
