import { prefixCharactersMin, wordCharactersMax } from '@indelible/protocol';
import { type Bits, bytesOfBits, noBits, setBit } from './bits.ts';

/*
 * A list of words with the offsets of the events that have them, as bytes. For each word: how many
 * bytes of UTF-8 it shares with the word before it, the number of its other bytes, these bytes, the
 * length of the offsets, and the offsets, ascending, each as the difference to the one before it.
 * All numbers are LEB128. Offsets that would take as much as one bit for each entry of the block
 * are these bits instead: the length says which.
 */

const wordBytesMax = 4 * wordCharactersMax;

/** The most entries of a block. */
export const entriesMax = 65_536;

/** Offsets of events in their block, ascending, by word. */
export type WordLists = Map<string, number[]>;

/**
 * The list that holds a word, of `lists` (a power of two): all words with one beginning are in one
 * list.
 */
export function listOf(word: string, lists: number): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < word.length && at < prefixCharactersMin; at++) {
    hash = Math.imul(hash ^ word.charCodeAt(at), 0x01000193);
  }
  return (hash ^ (hash >>> 15)) & (lists - 1);
}

export const listsOfSmall = 16;

export function encodeLists(lists: WordLists, entries: number): Buffer {
  const writer = new ByteWriter();
  let last = Buffer.alloc(0);
  for (const word of [...lists.keys()].sort()) {
    const bytes = Buffer.from(word);
    const shared = sharedBytes(last, bytes);
    writer.number(shared);
    writer.number(bytes.length - shared);
    writer.bytes(bytes.subarray(shared));
    writeOffsets(writer, lists.get(word) ?? [], entries);
    last = bytes;
  }
  return Buffer.from(writer.taken());
}

function writeOffsets(writer: ByteWriter, offsets: readonly number[], entries: number): void {
  const differences = differencesOf(offsets);
  const length = differences.reduce((sum, each) => sum + bytesOf(each), 0);
  const lengthMax = bytesOfBits(entries);
  writer.number(Math.min(length, lengthMax));
  if (length < lengthMax) {
    for (const each of differences) writer.number(each);
  } else {
    const bits = noBits(entries);
    for (const offset of offsets) setBit(bits, offset);
    writer.bytes(bits);
  }
}

const differencesOf = (offsets: readonly number[]) =>
  offsets.map((offset, at) => offset - (offsets[at - 1] ?? 0));

/** The length of a number of up to four bytes. */
function bytesOf(number: number): number {
  if (number < 0x80) return 1;
  return number < 0x4000 ? 2 : number < 0x20_0000 ? 3 : 4;
}

/** Every word with its offsets, of a block with so many entries. */
export function* decodeLists(data: Uint8Array, entries: number): Generator<[string, number[]]> {
  for (const words = new ListReader(data, entries); words.next(); ) {
    const count = words.readOffsets();
    yield [words.bytes.toString('utf8', 0, words.length), Array.from(offsets.subarray(0, count))];
  }
}

/** The events that have the word of a query (`wordMatches`); null if none has. */
export function eventsWith(data: Uint8Array, entries: number, query: string): Bits | null {
  const wanted = Buffer.from(query);
  const isPrefix = query.length >= prefixCharactersMin;
  let found: Bits | null = null;
  for (const words = new ListReader(data, entries); words.next(); ) {
    const { bytes, length } = words;
    const fits = isPrefix ? length >= wanted.length : length === wanted.length;
    if (!fits || wanted.compare(bytes, 0, wanted.length) !== 0) continue;
    found ??= noBits(entries);
    const count = words.readOffsets();
    for (let at = 0; at < count; at++) setBit(found, offsets[at] as number);
  }
  return found;
}

/** The offsets that were read last. */
const offsets = new Uint32Array(entriesMax);

/** Reads a list, one word after the other. */
class ListReader {
  /** The first `length` of them are the word. */
  readonly bytes = Buffer.allocUnsafe(wordBytesMax);
  length = 0;
  readonly #data: Uint8Array;
  readonly #entries: number;
  #at = 0;
  /** Where the offsets of the word end. */
  #end = 0;

  constructor(data: Uint8Array, entries: number) {
    this.#data = data;
    this.#entries = entries;
  }

  /** False: there are no more. */
  next(): boolean {
    this.#at = this.#end;
    if (this.#at === this.#data.length) return false;
    const shared = this.#number();
    this.length = shared + this.#number();
    if (this.#at + this.length - shared > this.#data.length) throw damaged();
    for (let at = shared; at < this.length; at++) this.bytes[at] = this.#data[this.#at++] as number;
    this.#end = this.#number() + this.#at;
    if (this.#end > this.#data.length) throw damaged();
    return true;
  }

  /** Reads ascending offsets, or the bits that stand for them, into `offsets`; returns how many. */
  readOffsets(): number {
    const [data, end] = [this.#data, this.#end];
    let [at, count] = [this.#at, 0];
    if (end - at === bytesOfBits(this.#entries)) {
      for (let first = 0; at < end; first += 8) {
        for (let rest = data[at++] as number; rest !== 0; rest &= rest - 1)
          offsets[count++] = first + 31 - Math.clz32(rest & -rest);
      }
      return count;
    }
    for (let last = 0; at < end; ) {
      // Most take one or two bytes, in no order: a branch would be mispredicted.
      const hasMore = (data[at] as number) >>> 7;
      let further = (data[at + 1] as number) & -hasMore;
      last += ((data[at] as number) & 0x7f) | ((further & 0x7f) << 7);
      at += 1 + hasMore;
      for (let shift = 14; further > 0x7f; shift += 7) {
        further = data[at++] as number;
        last += (further & 0x7f) << shift;
      }
      offsets[count++] = last;
    }
    if (at !== end) throw damaged();
    return count;
  }

  #number(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.#data[this.#at++];
      if (byte === undefined || shift > 21) throw damaged();
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }
}

const damaged = () => new Error('a word list is damaged');

function sharedBytes(one: Buffer, other: Buffer): number {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at++;
  return at;
}

class ByteWriter {
  length = 0;
  #data = Buffer.alloc(64);

  number(value: number): void {
    this.#reserve(5);
    let rest = value;
    for (; rest >= 0x80; rest >>>= 7) this.#data[this.length++] = (rest & 0x7f) | 0x80;
    this.#data[this.length++] = rest;
  }

  bytes(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#data.set(bytes, this.length);
    this.length += bytes.length;
  }

  taken(): Uint8Array {
    return this.#data.subarray(0, this.length);
  }

  #reserve(more: number): void {
    if (this.length + more <= this.#data.length) return;
    const larger = Buffer.alloc(2 * this.#data.length + more);
    larger.set(this.taken());
    this.#data = larger;
  }
}
