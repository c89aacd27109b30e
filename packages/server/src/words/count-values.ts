import { type CountedFacet, firstUuidAt, type ValueFilter } from '@indelible/protocol';
import type { TenantTx } from '../postgres/index.ts';
import { decodeTimes } from './block-times.ts';
import { type CountedValue, kindOf } from './block-words.ts';
import { blocksWithMatches } from './find-words.ts';
import type { Codes, GroupCounts, KeyValue } from './group-counts.ts';
import { blocksBetween, readLists, timesOfBlocks } from './store.ts';
import { largeEntries, listsOf } from './word-block.ts';
import { listOf, readValues, wordOfValue } from './word-lists.ts';

/** What to count in blocks. */
export interface BlockQuery {
  /** One or two. */
  keys: readonly (CountedFacet | 'time')[];
  /** When the buckets of `time` start, ascending, in milliseconds. */
  starts: readonly number[];
  filter: Partial<Record<CountedFacet, ValueFilter>>;
  /** Half-open, in milliseconds. */
  fromMs: number;
  beforeMs: number;
}

/** A block as it is counted. */
interface Block {
  entries: number;
  times: Float64Array;
  lists: readonly Buffer[];
}

/** By offset: a number for each event. */
type Column = Uint32Array;

/** Counts the events of blocks; stops soon after `groupsMax` groups. */
export async function countInBlocks(
  tx: TenantTx,
  query: BlockQuery,
  counts: GroupCounts,
  groupsMax: number,
): Promise<void> {
  const kinds = kindsOf(query);
  const ranges = await blocksBetween(tx, firstUuidAt(query.fromMs), firstUuidAt(query.beforeMs));
  // All values of a block may be megabytes.
  const matching = await blocksWithMatches(tx, query.filter, ranges);
  for (const some of portionsOf(matching)) {
    const wanted = some.flatMap(({ first, entries }) => {
      const lists = [...kinds].map((kind) =>
        listOf(wordOfValue(kindOf(kind), ''), listsOf(entries)),
      );
      return [...new Set(lists)].map((list) => ({ first, list }));
    });
    const [times, rows] = await Promise.all([
      timesOfBlocks(
        tx,
        some.map(({ first }) => first),
      ),
      readLists(tx, wanted, Number.MAX_SAFE_INTEGER),
    ]);
    const byBlock = Map.groupBy(rows, ({ first }) => first);
    for (const { first, entries, events } of some) {
      const lists = (byBlock.get(first) ?? []).flatMap(({ words }) => words ?? []);
      const block = {
        entries,
        times: decodeTimes(times.get(first) ?? Buffer.alloc(0), timesMax.subarray(0, events)),
        lists,
      };
      countBlock(block, query, counts);
    }
    if (counts.size > groupsMax) return;
  }
}

function kindsOf({ keys, filter }: BlockQuery): Set<CountedValue> {
  const facets = keys.flatMap((key) => (key === 'time' ? [] : key));
  const filtered = Object.keys(filter) as CountedFacet[];
  return new Set([
    ...facets,
    ...filtered,
    ...(facets.includes('user') ? ['address' as const] : []),
  ]);
}

/** Blocks that are read together: requests of others get the processor in between. */
function* portionsOf<Range extends { entries: number }>(ranges: readonly Range[]) {
  let some: Range[] = [];
  let entries = 0;
  for (const range of ranges) {
    some.push(range);
    entries += range.entries;
    if (entries < 4 * largeEntries) continue;
    yield some;
    [some, entries] = [[], 0];
  }
  if (some.length > 0) yield some;
}

// One block is counted at a time: these are used again, because new ones of megabytes a call keep
// the garbage collector busy.
const timesMax = new Float64Array(largeEntries);
const column = {
  ...{ first: new Uint32Array(largeEntries), second: new Uint32Array(largeEntries) },
  ...{ addresses: new Uint32Array(largeEntries), left: new Uint32Array(largeEntries) },
  facet: new Uint32Array(largeEntries),
};

function countBlock(block: Block, query: BlockQuery, counts: GroupCounts): void {
  const [first, second] = [keyValues(block, query, counts, 0), keyValues(block, query, counts, 1)];
  const users = query.keys.includes('user') ? [first, second][query.keys.indexOf('user')] : null;
  const addresses = users && valuesOf(block, 'address', column.addresses);
  const left = leftBy(block, query);
  const { times } = block;
  const low = countBefore(times, query.fromMs);
  // The newest first, so that an address seldom replaces another one.
  for (let at = countBefore(times, query.beforeMs) - 1; at >= low; at--) {
    if (left?.[at] === 0) continue;
    counts.add(first.codeAt(at), second.codeAt(at), 1);
    const address = addresses?.values[addresses.column[at] as number] ?? null;
    if (address !== null) counts.sawAddress(users?.codeAt(at) ?? 0, times[at] as number, address);
  }
}

/** The values of a block's events. */
interface BlockValues {
  /** By offset: the place of the event's value. */
  column: Column;
  values: readonly KeyValue[];
}

/** A value gets its code when an event is counted: all values of a tenant may be millions. */
class KeyValues {
  readonly #column: Column;
  readonly #values: readonly KeyValue[];
  readonly #codes: Codes<KeyValue>;
  /** By the place of the value: its code + 1. */
  readonly #known: Uint32Array;

  constructor({ column, values }: BlockValues, codes: Codes<KeyValue>) {
    this.#column = column;
    this.#values = values;
    this.#codes = codes;
    this.#known = new Uint32Array(values.length);
  }

  codeAt(offset: number): number {
    const place = this.#column[offset] as number;
    const known = this.#known[place] as number;
    if (known > 0) return known - 1;
    const code = this.#codes.of(this.#values[place] ?? null);
    this.#known[place] = code + 1;
    return code;
  }
}

/** Of the first or second key. */
function keyValues(block: Block, query: BlockQuery, counts: GroupCounts, nth: 0 | 1): KeyValues {
  const into = nth === 0 ? column.first : column.second;
  const [key, codes] = [query.keys[nth], counts.keys[nth]];
  if (key === 'time') return new KeyValues(bucketsOf(block.times, query.starts, into), codes);
  if (key !== undefined) return new KeyValues(valuesOf(block, key, into), codes);
  return new KeyValues({ column: into.fill(0, 0, block.times.length), values: [null] }, codes);
}

/** Null is no value. */
function valuesOf(block: Block, value: CountedValue, into: Column) {
  const values: (string | null)[] = [null];
  return { column: columnOf(block, value, into, 0, (each) => values.push(each) - 1), values };
}

/** By offset: the number of each event's value, or `none`. */
function columnOf(
  { entries, times, lists }: Block,
  value: CountedValue,
  into: Column,
  none: number,
  numberOf: (value: string) => number,
): Column {
  into.fill(none, 0, times.length);
  for (const list of lists) readValues(list, entries, kindOf(value), into, numberOf);
  return into;
}

/** The value of a bucket is the number of buckets that begin at its time or before. */
function bucketsOf(times: Float64Array, starts: readonly number[], into: Column): BlockValues {
  const values: number[] = [];
  for (let at = 0, bucket = countBefore(starts, (times[0] ?? 0) + 1); at < times.length; bucket++) {
    const end = bucket < starts.length ? countBefore(times, starts[bucket] ?? 0) : times.length;
    if (end > at) into.fill(values.push(bucket) - 1, at, end);
    at = Math.max(at, end);
  }
  return { column: into, values };
}

/** By offset: 0 for the events that the filter excludes; null: there is no filter. */
function leftBy(block: Block, { filter }: BlockQuery): Column | null {
  const facets = Object.keys(filter) as CountedFacet[];
  if (facets.length === 0) return null;
  const events = block.times.length;
  const left = column.left.fill(1, 0, events);
  for (const facet of facets) {
    const { any, none } = filter[facet] ?? { any: [], none: [] };
    const isWanted = (value: string) =>
      (any.length === 0 || any.includes(value)) && !none.includes(value);
    const own = columnOf(block, facet, column.facet, Number(any.length === 0), (value) =>
      Number(isWanted(value)),
    );
    for (let at = 0; at < events; at++) if (own[at] === 0) left[at] = 0;
  }
  return left;
}

/** How many of these ascending times are before `ms`. */
export function countBefore(times: ArrayLike<number>, ms: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((times[middle] as number) < ms) low = middle + 1;
    else high = middle;
  }
  return low;
}
