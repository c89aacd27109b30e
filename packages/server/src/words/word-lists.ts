import { prefixCharactersMin, wordCharactersMax } from '@indelible/protocol';
import { type Bits, noBits, offsetsOf, setBit, unite } from './bits.ts';

/*
 * A list of words with the offsets of the events that have them, as bytes. For each word: how many
 * bytes of UTF-8 it shares with the word before it, the number of its other bytes, these bytes, the
 * length of the offsets, and the offsets, ascending, each as the difference to the one before it.
 * All numbers are LEB128. Offsets that would take as much as one bit for each entry of the block
 * are these bits instead: the length says which.
 */

/** A character of UTF-16 takes at most three bytes of UTF-8. */
const wordBytesMax = 3 * wordCharactersMax;

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
  const bits = noBits(entries);
  writer.number(Math.min(length, bits.length));
  if (length < bits.length) {
    for (const each of differences) writer.number(each);
  } else {
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
  for (const { word, reader, end } of listsIn(data)) {
    const offsets = reader.offsetsTo(end, entries);
    yield [word.toString(), Array.isArray(offsets) ? offsets : offsetsOf(offsets)];
  }
}

/** The events that have the word of a query (`wordMatches`); null if none has. */
export function eventsWith(data: Uint8Array, entries: number, query: string): Bits | null {
  const wanted = Buffer.from(query);
  const isPrefix = query.length >= prefixCharactersMin;
  let found: Bits | null = null;
  for (const { word, reader, end } of listsIn(data)) {
    const fits = isPrefix ? word.length >= wanted.length : word.length === wanted.length;
    if (!fits || wanted.compare(word, 0, wanted.length) !== 0) continue;
    found ??= noBits(entries);
    const offsets = reader.offsetsTo(end, entries);
    if (Array.isArray(offsets)) for (const offset of offsets) setBit(found, offset);
    else unite(found, offsets);
  }
  return found;
}

function* listsIn(data: Uint8Array) {
  const reader = new ByteReader(data);
  const bytes = Buffer.alloc(wordBytesMax);
  while (reader.at < data.length) {
    const shared = reader.number();
    const length = reader.number();
    bytes.set(reader.take(length), shared);
    const end = reader.number() + reader.at;
    // Valid until the next word is read.
    yield { word: bytes.subarray(0, shared + length), reader, end };
    reader.at = end;
  }
}

function sharedBytes(one: Buffer, other: Buffer): number {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at++;
  return at;
}

class ByteReader {
  at = 0;
  readonly #data: Uint8Array;

  constructor(data: Uint8Array) {
    this.#data = data;
  }

  number(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.#data[this.at++];
      if (byte === undefined || shift > 21) throw new Error('a word list is damaged');
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }

  take(length: number): Uint8Array {
    const from = this.at;
    this.at += length;
    if (this.at > this.#data.length) throw new Error('a word list is damaged');
    return this.#data.subarray(from, this.at);
  }

  /** Ascending offsets, or the bits that stand for them. */
  offsetsTo(end: number, entries: number): number[] | Bits {
    if (end - this.at === entries / 8) return Uint8Array.from(this.take(entries / 8));
    const offsets: number[] = [];
    for (let last = 0; this.at < end; ) {
      last += this.number();
      offsets.push(last);
    }
    return offsets;
  }
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
