import type { Column, Value } from '../../cold/index.ts';
import { GrowingBytes } from './growing-bytes.ts';
import { hybrid, packed } from './hybrid.ts';

/** What a column has in a row group, not yet compressed. */
export interface ColumnChunk {
  /** Of the rows, also those without a value. */
  count: number;
  nulls: number;
  /** The different values, if the page holds their numbers. */
  dictionary: { count: number; bytes: Buffer } | null;
  page: Buffer;
  /** The least and greatest value as the format writes them, for readers that skip row groups. */
  range: { least: Buffer; greatest: Buffer } | null;
}

/** A larger dictionary saves less than it takes. */
const dictionaryMax = 6_000;

/**
 * Collects the values of a column. Values that repeat are kept once, as a dictionary, and the rows
 * have their numbers in it. A column with too many different ones has no dictionary from then on.
 */
export class ColumnWriter {
  readonly #column: Column;
  /** 1 for each row with a value. */
  readonly #levels: Uint8Array;
  #count = 0;
  #isRepeating: boolean;
  /** The number in the dictionary by value; null without one. */
  #known: Map<Value, number> | null;
  /** For each row with a value its number in the dictionary, or a boolean. */
  readonly #numbers: Uint16Array;
  #filled = 0;
  /** Where each value of the dictionary starts in `#plain`. */
  #starts: number[] = [];
  /** The values of the dictionary, or of all rows. */
  readonly #plain = new GrowingBytes();
  #characters = 0;
  #least: string | number | null = null;
  #greatest: string | number | null = null;

  /** At most so many rows between two calls of `take`. */
  constructor(column: Column, rowsMax: number) {
    this.#column = column;
    this.#levels = new Uint8Array(rowsMax);
    this.#numbers = new Uint16Array(rowsMax);
    this.#isRepeating = column.type !== 'BLOB' && column.type !== 'BOOLEAN';
    this.#known = this.#isRepeating ? new Map() : null;
  }

  /** Of the texts so far: without a dictionary they take at least so many bytes. */
  get characters(): number {
    return this.#characters;
  }

  append(value: Value): void {
    this.#levels[this.#count] = value === null ? 0 : 1;
    this.#count += 1;
    if (value === null) return;
    if (typeof value === 'string') this.#characters += value.length;
    if (typeof value === 'boolean') this.#numbers[this.#filled] = Number(value);
    else if (this.#known === null) this.#write(value);
    else this.#numbers[this.#filled] = this.#known.get(value) ?? this.#define(this.#known, value);
    this.#filled += 1;
    if (this.#known === null || this.#starts.length <= dictionaryMax) return;
    this.#isRepeating = false;
    this.#spread();
  }

  /** The rows since the last call. */
  take(): ColumnChunk {
    if (2 * this.#starts.length >= this.#filled) this.#spread();
    const count = this.#count;
    const nulls = count - this.#filled;
    const levels = hybrid(this.#levels.subarray(0, count), 1);
    const size = Buffer.alloc(4);
    size.writeUInt32LE(levels.length);
    const dictionary = this.#known && {
      count: this.#starts.length,
      bytes: Buffer.from(this.#plain.bytes()),
    };
    const page = Buffer.concat([size, levels, this.#values()]);
    const range =
      this.#least === null || this.#greatest === null
        ? null
        : { least: bytesOf(this.#least), greatest: bytesOf(this.#greatest) };
    this.#clear();
    return { count, nulls, dictionary, page, range };
  }

  #values(): Buffer {
    const numbers = this.#numbers.subarray(0, this.#filled);
    if (this.#column.type === 'BOOLEAN') return packed(numbers, 1);
    if (this.#known === null) return this.#plain.bytes();
    const width = Math.max(1, 32 - Math.clz32(this.#starts.length - 1));
    return Buffer.concat([Buffer.of(width), hybrid(numbers, width)]);
  }

  #clear(): void {
    this.#known = this.#isRepeating ? new Map() : null;
    [this.#count, this.#filled, this.#characters, this.#starts] = [0, 0, 0, []];
    [this.#least, this.#greatest] = [null, null];
    this.#plain.clear();
  }

  #write(value: string | number | Uint8Array): void {
    if (typeof value === 'number') this.#plain.int64(value);
    else this.#plain.prefixed(value);
    const isRanged = typeof value === 'number' || this.#column.isRanged === true;
    if (!isRanged || value instanceof Uint8Array) return;
    if (this.#least === null || value < this.#least) this.#least = value;
    if (this.#greatest === null || value > this.#greatest) this.#greatest = value;
  }

  /** Returns the number of a value that the dictionary lacks. */
  #define(known: Map<Value, number>, value: string | number | Uint8Array): number {
    const number = this.#starts.push(this.#plain.length) - 1;
    this.#write(value);
    known.set(value, number);
    return number;
  }

  /** From the dictionary to the values of all rows. */
  #spread(): void {
    const dictionary = Buffer.from(this.#plain.bytes());
    this.#plain.clear();
    for (const number of this.#numbers.subarray(0, this.#filled)) {
      const end = this.#starts[number + 1] ?? dictionary.length;
      this.#plain.append(dictionary.subarray(this.#starts[number], end));
    }
    this.#known = null;
    this.#starts = [];
  }
}

function bytesOf(value: string | number): Buffer {
  if (typeof value === 'string') return Buffer.from(value);
  const bytes = new GrowingBytes();
  bytes.int64(value);
  return bytes.bytes();
}
