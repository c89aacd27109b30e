import type { CountedFacet, ValueFilter } from '@indelible/protocol';
import { type CountedValue, kindOf } from './block-words.ts';
import type { Codes, GroupCounts, KeyValue } from './group-counts.ts';
import { largeEntries } from './word-block.ts';
import { offsets, valuesIn } from './word-lists.ts';

/** What to count in blocks. */
export interface BlockQuery {
  /** One or two. */
  keys: readonly BlockKey[];
  /** When the buckets of `time` start, ascending, in milliseconds. */
  starts: readonly number[];
  filter: Partial<Record<CountedFacet, ValueFilter>>;
  /** Half-open, in milliseconds. */
  fromMs: number;
  beforeMs: number;
}
type BlockKey = CountedFacet | 'time';

/** A block as it is counted. */
export interface CountedBlock {
  entries: number;
  newest: string;
  lists: readonly Buffer[];
  /** Offsets of its events in the range of the query, half-open. */
  low: number;
  high: number;
  /** The number of its first bucket, and where the following ones begin. */
  bucket: number;
  bucketOffsets: readonly number[];
}

// One block is counted at a time: these are used again, because new ones of megabytes a call keep
// the garbage collector busy.

/** By offset: the place of the event's value of one key; 0: the event is not counted. */
const places = new Uint32Array(largeEntries);
const isWanted = new Uint8Array(largeEntries);
const addressPlaces = new Uint32Array(largeEntries);
/** By place: the events that have one value of the other key, and those that have none. */
const tally = new Uint32Array(largeEntries + 2);
const others = new Uint32Array(largeEntries + 2);
/** Places with a tally. */
const tallied = new Uint32Array(largeEntries + 2);

/**
 * Counts the events of a block: one key has a place for each event, the events of each value of the
 * other key are tallied by it. Returns whether the block may have the last address of a user.
 */
export function countBlock(block: CountedBlock, query: BlockQuery, counts: GroupCounts): boolean {
  const listed = listedKey(query.keys);
  const key = query.keys[listed];
  const values = place(block, query, query.keys[1 - listed]);
  const placed = new Places(values, counts.keys[listed === 0 ? 1 : 0]);
  const codes = counts.keys[listed];
  const add = (code: number, at: number, count: number) =>
    listed === 0
      ? counts.add(code, placed.codeOf(at), count)
      : counts.add(placed.codeOf(at), code, count);
  for (let at = block.low; at < block.high; at++) (others[places[at] as number] as number)++;
  let lacksAddress = false;
  for (const value of valuesOf(block, key)) {
    const length = tallyEvents(value.readOffsets());
    if (length === 0) continue;
    const code = codes.of(value.value());
    for (let nth = 0; nth < length; nth++) {
      const at = tallied[nth] as number;
      const count = tally[at] as number;
      add(code, at, count);
      (others[at] as number) -= count;
      tally[at] = 0;
    }
    lacksAddress ||= key === 'user' && counts.lastId(code) < block.newest;
  }
  for (let at = 1; at < values.length; at++) {
    if ((others[at] as number) > 0) add(codes.of(null), at, others[at] as number);
  }
  others.fill(0, 0, values.length);
  return lacksAddress;
}

/** Users are listed, because their addresses are found one by one; times are never listed. */
function listedKey([first, second]: readonly BlockKey[]): 0 | 1 {
  if (first === 'time') return 1;
  return first === 'user' || second === undefined || second === 'time' ? 0 : 1;
}

/** Tallies the events of `offsets` by place; returns how many places they have. */
function tallyEvents(events: number): number {
  let length = 0;
  for (let n = 0; n < events; n++) {
    const at = places[offsets[n] as number] as number;
    if (at === 0) continue;
    if (tally[at] === 0) tallied[length++] = at;
    (tally[at] as number)++;
  }
  return length;
}

/** A value gets its code when an event is counted: all values of a tenant may be millions. */
class Places {
  readonly #values: readonly KeyValue[];
  readonly #codes: Codes<KeyValue>;
  /** By place: the code of its value + 1. */
  readonly #known: Uint32Array;

  constructor(values: readonly KeyValue[], codes: Codes<KeyValue>) {
    this.#values = values;
    this.#codes = codes;
    this.#known = new Uint32Array(values.length);
  }

  codeOf(at: number): number {
    const known = this.#known[at] as number;
    if (known > 0) return known - 1;
    const code = this.#codes.of(this.#values[at] ?? null);
    this.#known[at] = code + 1;
    return code;
  }
}

/** Fills `places`; returns the value of each place. Without a key all events have one place. */
function place(
  block: CountedBlock,
  { filter }: BlockQuery,
  key: BlockKey | undefined,
): readonly KeyValue[] {
  const values: KeyValue[] = [null, null];
  places.fill(0, 0, block.low);
  places.fill(1, block.low, block.high);
  places.fill(0, block.high, block.entries);
  if (key === 'time') values.splice(1, 1, ...placeBuckets(block));
  else if (key !== undefined) {
    for (const value of valuesOf(block, key)) {
      const at = values.push(value.value()) - 1;
      const events = value.readOffsets();
      for (let n = 0; n < events; n++) {
        const offset = offsets[n] as number;
        if (places[offset] !== 0) places[offset] = at;
      }
    }
  }
  for (const facet of Object.keys(filter) as CountedFacet[]) exclude(block, facet, filter[facet]);
  return values;
}

/** The value of a bucket is the number of buckets that begin at its time or before. */
function placeBuckets({ low, high, bucket, bucketOffsets }: CountedBlock): number[] {
  const buckets: number[] = [];
  let at = low;
  for (const [nth, offset] of [...bucketOffsets, high].entries()) {
    const end = Math.min(offset, high);
    if (end <= at) continue;
    places.fill(buckets.push(bucket + nth), at, end);
    at = end;
  }
  return buckets;
}

/** Events that the filter excludes have no place. */
function exclude(
  block: CountedBlock,
  facet: CountedFacet,
  { any, none }: ValueFilter = { any: [], none: [] },
): void {
  isWanted.fill(any.length === 0 ? 1 : 0, 0, block.entries);
  for (const value of valuesOf(block, facet)) {
    const text = value.value();
    const wanted = (any.length === 0 || any.includes(text)) && !none.includes(text);
    if (wanted === (any.length === 0)) continue;
    const events = value.readOffsets();
    for (let n = 0; n < events; n++) isWanted[offsets[n] as number] = wanted ? 1 : 0;
  }
  for (let at = block.low; at < block.high; at++) if (isWanted[at] === 0) places[at] = 0;
}

function* valuesOf({ lists, entries }: CountedBlock, value: CountedValue | 'time' | undefined) {
  if (value === undefined || value === 'time') return;
  for (const list of lists) yield* valuesIn(list, entries, kindOf(value));
}

/** An event with the address of its user. */
export interface SeenAddress {
  /** The code of the user. */
  user: number;
  offset: number;
  address: string;
}

/** The last counted event with an address, of each user who may have none that is later. */
export function lastAddresses(
  block: CountedBlock,
  query: BlockQuery,
  counts: GroupCounts,
): SeenAddress[] {
  place(block, query, undefined);
  const addresses = [''];
  addressPlaces.fill(0, 0, block.entries);
  for (const value of valuesOf(block, 'address')) {
    const at = addresses.push(value.value()) - 1;
    const events = value.readOffsets();
    for (let n = 0; n < events; n++) addressPlaces[offsets[n] as number] = at;
  }
  const users = counts.keys[listedKey(query.keys)];
  const seen: SeenAddress[] = [];
  for (const value of valuesOf(block, 'user')) {
    const user = users.find(value.value());
    if (user === undefined || counts.lastId(user) >= block.newest) continue;
    for (let n = value.readOffsets() - 1; n >= 0; n--) {
      const offset = offsets[n] as number;
      if (places[offset] === 0 || addressPlaces[offset] === 0) continue;
      seen.push({ user, offset, address: addresses[addressPlaces[offset] as number] ?? '' });
      break;
    }
  }
  return seen;
}
