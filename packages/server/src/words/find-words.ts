import {
  type EventFilter,
  eventWords,
  folded,
  matchesWords,
  mayBeJoined,
  type ValueFilter,
  wordsOf,
} from '@indelible/protocol';
import { unavailable } from '../http/problem.ts';
import { eventsBetween } from '../log/entries.store.ts';
import { firstThat } from '../log/received-since.ts';
import type { TenantTx } from '../postgres/tenant-tx.ts';
import { type Bits, firstBits, intersect, isEmpty, offsetsOf, subtract, unite } from './bits.ts';
import { type BlockFields, foldedTexts, type WantedWords, wantedWords } from './block-words.ts';
import {
  type BlockRange,
  blocksBetween,
  blocksOfEntries,
  idsAt,
  readLists,
  searchedEvents,
  type WordsProgress,
  wordsProgress,
} from './store.ts';
import { listsOf } from './word-block.ts';
import { eventsWith, listOf } from './word-lists.ts';

/** More entries than this are not searched without blocks: that takes seconds. */
const unindexedMax = 50_000;
const entriesAtOnce = 1_024;

/** Ids in a half-open range, in this order. */
export interface FindRange {
  from: string;
  before: string;
  descending: boolean;
}

/**
 * Ids of the events with the words of a filter, in the order of the range, in growing portions.
 * Events that its other filters exclude are left out as far as blocks tell. Blocks are read as the
 * caller needs them, so a frequent word costs no more than a rare one. Throws `unavailable` if too
 * many entries are in no block yet.
 */
export async function* findWords(
  tx: TenantTx,
  filter: EventFilter & { q: ValueFilter },
  range: FindRange,
): AsyncGenerator<string[]> {
  const ahead = range.descending
    ? (one: string, other: string) => one > other
    : (one: string, other: string) => one < other;
  const progress = await wordsProgress(tx);
  const open = [new IdQueue(await foundInNoBlock(tx, filter.q, range, progress))];
  const blocks = await blocksBetween(tx, range.from, range.before);
  const edge = range.descending ? ('newest' as const) : ('oldest' as const);
  blocks.sort((a, b) => (ahead(a[edge], b[edge]) ? -1 : 1));
  const matching = withMatches(tx, wantedWords(filter), blocks);
  let next = await matching.next();
  let portion: string[] = [];
  for (let portionMax = 64; ; ) {
    const first = await firstOf(open, ahead);
    // A block that begins before the next id may have an id that comes first.
    if (!next.done && (first === null || !ahead(first.head, next.value.block[edge]))) {
      const { block, events } = next.value;
      open.push(queueOf(tx, block, offsetsOf(events), range));
      next = await matching.next();
      continue;
    }
    if (first === null) break;
    portion.push(first.queue.take());
    if (portion.length < portionMax) continue;
    yield portion;
    portion = [];
    portionMax = Math.min(4 * portionMax, 16_384);
  }
  if (portion.length > 0) yield portion;
}

/** The queue whose next id comes first; removes empty ones. */
async function firstOf(open: IdQueue[], ahead: (one: string, other: string) => boolean) {
  let first: { queue: IdQueue; head: string } | null = null;
  for (const queue of [...open]) {
    const head = queue.head() ?? (await queue.fill());
    if (head === null) open.splice(open.indexOf(queue), 1);
    else if (first === null || ahead(head, first.head)) first = { queue, head };
  }
  return first;
}

/** Ids in order; more of them are read when they are needed. */
class IdQueue {
  #ids: readonly string[];
  #at = 0;
  readonly #more: () => Promise<readonly string[]>;

  constructor(ids: readonly string[], more: () => Promise<readonly string[]> = async () => []) {
    this.#ids = ids;
    this.#more = more;
  }

  head(): string | null {
    return this.#ids[this.#at] ?? null;
  }

  async fill(): Promise<string | null> {
    this.#ids = await this.#more();
    this.#at = 0;
    return this.head();
  }

  take(): string {
    const id = this.#ids[this.#at++];
    if (id === undefined) throw new Error('the queue is empty');
    return id;
  }
}

/** Searches the newest entries, which are in no block yet, by reading their events. */
async function foundInNoBlock(
  tx: TenantTx,
  words: ValueFilter,
  range: FindRange,
  progress: WordsProgress,
): Promise<string[]> {
  const waiting = progress.size - progress.indexed;
  if (waiting > unindexedMax) {
    throw unavailable(`the words of ${waiting} events are not indexed yet; retry in some minutes`);
  }
  const among = readingEvents(tx, words);
  const found: string[] = [];
  for await (const some of idsInNoBlock(tx, range, progress)) found.push(...(await among(some)));
  found.sort();
  return range.descending ? found.reverse() : found;
}

/** The ids of the newest entries, whose words are in no block yet, in portions. */
async function* idsInNoBlock(
  tx: TenantTx,
  { from, before }: Pick<FindRange, 'from' | 'before'>,
  { indexed, size }: WordsProgress,
): AsyncGenerator<string[]> {
  for (let at = indexed; at < size; at += entriesAtOnce) {
    const uuids = await eventsBetween(tx, at, Math.min(at + entriesAtOnce, size));
    yield uuids.filter((uuid) => uuid >= from && uuid < before);
  }
}

/** With more text in no block, a few large events get a block of their own. */
const charactersSoon = 2 ** 20;
/** With more, searches wait for that block. */
const charactersMax = 2 ** 24;

/** Which of these events have the words, however long they are. */
export const amongWithWords = (tx: TenantTx, uuids: readonly string[], words: ValueFilter) =>
  readingEvents(tx, words, Number.POSITIVE_INFINITY)(uuids);

/**
 * The returned function gives those of some events that have the words, by reading them. Only of
 * texts that may have them the words are made. A large event may take 20 ms: a block of their own
 * spares the next search that. Throws `unavailable` if all calls together read too much.
 */
function readingEvents(
  tx: TenantTx,
  { any, none }: ValueFilter,
  most = charactersMax,
): (uuids: readonly string[]) => Promise<string[]> {
  const wordsOfQuery = new Map([...any, ...none].map((query) => [query, wordsOf(query)]));
  const isFound = (event: BlockFields) => {
    const texts = foldedTexts(event);
    const has = (query: string) => {
      const wanted = wordsOfQuery.get(query) ?? [];
      if (!wanted.every((word) => mayBeJoined(word) || texts.includes(word))) return false;
      const isWanted = (text: string) =>
        wanted.some((word) => mayBeJoined(word) || folded(text).includes(word));
      return matchesWords([...eventWords(event, isWanted)].sort(), query);
    };
    return (any.length === 0 || any.some(has)) && !none.some(has);
  };
  let read = 0;
  return async (uuids) => {
    const found: string[] = [];
    for await (const event of searchedEvents(tx, uuids)) {
      if (isFound(event)) found.push(event.uuid);
      read += event.diff.length + (event.context?.length ?? 0);
      if (read > charactersSoon) tx.indexSoon?.();
      if (read > most)
        throw unavailable('the words of large new events are not indexed yet; retry in a minute');
    }
    return found;
  };
}

/**
 * The returned function gives those of the events of consecutive entries, from a sequence on, that
 * have the words; also some that other filters exclude.
 */
export async function wordsInLog(
  tx: TenantTx,
  filter: EventFilter & { q: ValueFilter },
): Promise<(start: number, uuids: readonly string[]) => Promise<string[]>> {
  const { indexed } = await wordsProgress(tx);
  const wanted = wantedWords(filter);
  const among = readingEvents(tx, filter.q);
  /** The ids with the words, by the first sequence of their block: of the entries before, too. */
  let known = new Map<number, ReadonlySet<string>>();
  return async (start, uuids) => {
    const inBlocks = uuids.slice(0, Math.max(0, indexed - start));
    const blocks = await blocksOfEntries(tx, start, start + inBlocks.length);
    const none: ReadonlySet<string> = new Set();
    const ids = new Map(blocks.map(({ first }) => [first, known.get(first) ?? none]));
    const others = blocks.filter(({ first }) => !known.has(first));
    for await (const { block, events } of withMatches(tx, wanted, others))
      ids.set(block.first, new Set(await idsAt(tx, block.first, offsetsOf(events))));
    known = ids;
    const all = [...known.values()];
    const indexedOnes = inBlocks.filter((uuid) => all.some((some) => some.has(uuid)));
    return [...indexedOnes, ...(await among(uuids.slice(inBlocks.length)))];
  };
}

/** The lists read at once, of 4 KiB each: up to 400 words stand in a query. */
const listsAtOnce = 2_048;
const blocksAtOnce = 128;

/** The blocks that have matches, in this order, with these events; reads ever more at once. */
async function* withMatches(
  tx: TenantTx,
  wanted: WantedWords,
  blocks: readonly BlockRange[],
): AsyncGenerator<{ block: BlockRange; events: Bits }> {
  const words = [...wanted.groups.flat(), ...wanted.none].flat().length;
  let countMax = Math.max(1, Math.min(blocksAtOnce, Math.floor(listsAtOnce / words)));
  for (let [at, count] = [0, 2]; at < blocks.length; ) {
    const some = blocks.slice(at, at + Math.min(count, countMax));
    const eventsOf = await readWords(tx, wanted, some);
    if (eventsOf === null) {
      countMax = Math.floor(some.length / 2);
      continue;
    }
    for (const block of some) {
      const events = matchesIn(block, wanted, (word) => eventsOf(block, word));
      if (events !== null) yield { block, events };
    }
    at += some.length;
    count *= 4;
  }
}

/** Longer lists, those of frequent words, are read only where all shorter ones have matches. */
const shortListBytes = 4_096;
/** The bytes of several blocks at once; one of large events may have as much alone. */
const longListsBytes = 16 * 2 ** 20;

/**
 * Reads what these blocks say about the words; null is no event. Null if the lists of several
 * blocks are too long to be read at once.
 */
async function readWords(
  tx: TenantTx,
  { groups, none }: WantedWords,
  blocks: readonly BlockRange[],
): Promise<((block: BlockRange, word: string) => Bits | null) | null> {
  const words = [...groups.flat(), ...none].flat();
  const listIn = ({ entries }: BlockRange, word: string) => listOf(word, listsOf(entries));
  const listsIn = (block: BlockRange) => {
    const own = new Set(words.map((word) => listIn(block, word)));
    return [...own].map((list) => ({ first: block.first, list }));
  };
  const lists = new Map<string, { words: Buffer | null; bytes: number }>();
  const read = async (wanted: ReturnType<typeof listsIn>, bytesMax: number) => {
    for (const row of await readLists(tx, wanted, bytesMax))
      lists.set(`${row.first}/${row.list}`, row);
  };
  const eventsOf = (block: BlockRange, word: string) => {
    const list = lists.get(`${block.first}/${listIn(block, word)}`);
    if (list === undefined) return null;
    if (list.words === null) return firstBits(block.entries, block.events);
    return eventsWith(list.words, block.entries, word);
  };
  await read(blocks.flatMap(listsIn), shortListBytes);
  const open = blocks.filter(
    (block) => matchesIn(block, { groups, none: [] }, (word) => eventsOf(block, word)) !== null,
  );
  const listAt = ({ first, list }: { first: number; list: number }) =>
    lists.get(`${first}/${list}`);
  const long = open.flatMap(listsIn).filter((each) => listAt(each)?.words === null);
  const bytes = long.reduce((sum, each) => sum + (listAt(each)?.bytes ?? 0), 0);
  if (blocks.length > 1 && bytes > longListsBytes) return null;
  if (long.length > 0) await read(long, Number.MAX_SAFE_INTEGER);
  return eventsOf;
}

/** The events of a block that have what is wanted; null if none has. */
function matchesIn(
  { entries, events }: BlockRange,
  { groups, none }: WantedWords,
  eventsOf: (word: string) => Bits | null,
): Bits | null {
  const found = firstBits(entries, events);
  for (const alternatives of groups) {
    const any = alternatives.flatMap((words) => withAll(words, eventsOf) ?? []);
    const [first, ...others] = any;
    if (first === undefined) return null;
    for (const other of others) unite(first, other);
    intersect(found, first);
  }
  for (const words of none) {
    const gone = withAll(words, eventsOf);
    if (gone) subtract(found, gone);
  }
  return isEmpty(found) ? null : found;
}

function withAll(words: readonly string[], eventsOf: (word: string) => Bits | null): Bits | null {
  let found: Bits | null = null;
  for (const word of words) {
    const events = eventsOf(word);
    if (events === null) return null;
    if (found) intersect(found, events);
    found ??= events;
  }
  return found;
}

/** Reads the ids of a block in portions, from where the range begins. */
function queueOf(
  tx: TenantTx,
  { first, oldest, newest }: BlockRange,
  found: readonly number[],
  { from, before, descending }: FindRange,
): IdQueue {
  const isCut = descending ? newest >= before : oldest < from;
  const order = descending ? found.toReversed() : found;
  let at: number | null = isCut ? null : 0;
  let count = 64;
  return new IdQueue([], async () => {
    at ??= await firstThat(order.length, async (nth) => {
      const [id = ''] = await idsAt(tx, first, [order[nth] ?? 0]);
      return descending ? id < before : id >= from;
    });
    const some = order.slice(at, at + count).sort((a, b) => a - b);
    at += count;
    count *= 4;
    if (some.length === 0) return [];
    const ids = await idsAt(tx, first, some);
    const inRange = ids.filter((id) => id >= from && id < before);
    return descending ? inRange.reverse() : inRange;
  });
}
