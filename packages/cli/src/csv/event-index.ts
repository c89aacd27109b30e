import { closeSync, readSync, writeSync } from 'node:fs';
import { uuidBytes } from '@indelible/protocol';
import { openUnnamed } from '../verify/entry-file.ts';

/** The position of an event, and whether the table should contain it. */
export interface IndexedEvent {
  index: number;
  sequence: number;
  wanted: boolean;
  line: Buffer;
}

// uuid 16, sequence 8, offset of the line 8, its length 4, wanted 1: big-endian.
const recordBytes = 40;
const blockRecords = 512;

/**
 * The events of a bundle by id, in two temporary files, so that memory does not grow with the
 * table. Add them in the order of their ids, as bundles have them.
 */
export class EventIndex {
  readonly #records = openUnnamed();
  readonly #lines = openUnnamed();
  readonly #block = Buffer.alloc(blockRecords * recordBytes);
  #last = Buffer.alloc(recordBytes);
  #blockIndex = -1;
  #size = 0;
  #lineBytes = 0;

  get size(): number {
    return this.#size;
  }

  /** False for an event out of order, which is not added. */
  add(uuid: string, sequence: number, wanted: boolean, line: Uint8Array): boolean {
    const record = Buffer.alloc(recordBytes);
    uuidBytes(uuid, record);
    if (this.#last.compare(record, 0, 16, 0, 16) >= 0) return false;
    this.#last = record;
    record.writeDoubleBE(sequence, 16);
    record.writeDoubleBE(this.#lineBytes, 24);
    record.writeUInt32BE(line.length, 32);
    record[36] = wanted ? 1 : 0;
    writeSync(this.#records, record, 0, recordBytes, this.#size * recordBytes);
    writeSync(this.#lines, line, 0, line.length, this.#lineBytes);
    this.#lineBytes += line.length;
    this.#size += 1;
    this.#blockIndex = -1;
    return true;
  }

  /** Whether the table should contain the event at this index. */
  isWanted(index: number): boolean {
    return this.#at(index)[36] === 1;
  }

  /** The index of an event, or -1; looks at `guess` first. */
  find(uuid: string, guess: number): number {
    const wanted = Buffer.from(uuidBytes(uuid));
    if (guess >= 0 && guess < this.#size && this.#compare(guess, wanted) === 0) return guess;
    let [low, high] = [0, this.#size];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (this.#compare(middle, wanted) < 0) low = middle + 1;
      else high = middle;
    }
    return low < this.#size && this.#compare(low, wanted) === 0 ? low : -1;
  }

  read(index: number): IndexedEvent {
    const record = this.#at(index);
    const line = Buffer.alloc(record.readUInt32BE(32));
    const [sequence, at, wanted] = [
      record.readDoubleBE(16),
      record.readDoubleBE(24),
      record[36] === 1,
    ];
    readSync(this.#lines, line, 0, line.length, at);
    return { index, sequence, wanted, line };
  }

  close(): void {
    closeSync(this.#records);
    closeSync(this.#lines);
  }

  #compare(index: number, uuid: Buffer): number {
    return this.#at(index).compare(uuid, 0, 16, 0, 16);
  }

  #at(index: number): Buffer {
    const block = Math.floor(index / blockRecords);
    if (block !== this.#blockIndex) {
      readSync(this.#records, this.#block, 0, this.#block.length, block * this.#block.length);
      this.#blockIndex = block;
    }
    const at = (index - block * blockRecords) * recordBytes;
    return this.#block.subarray(at, at + recordBytes);
  }
}
