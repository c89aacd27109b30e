import { closeSync, readSync, writeSync } from 'node:fs';
import { uuidBytes } from '@indelible/protocol';
import { openUnnamed, RecordFile } from '../verify/record-file.ts';

/** The position of an event, and whether the table should contain it. */
export interface IndexedEvent {
  index: number;
  sequence: number;
  wanted: boolean;
  line: Buffer;
}

// uuid 16, sequence 8, offset of the line 8, its length 4, wanted 1: big-endian.
const recordBytes = 40;

/**
 * The events of a bundle by id, in two temporary files, so that memory does not grow with the
 * table. Add them in the order of their ids, as bundles have them.
 */
export class EventIndex {
  readonly #records = new RecordFile(recordBytes);
  readonly #lines = openUnnamed();
  #last = Buffer.alloc(recordBytes);
  #lineBytes = 0;

  get size(): number {
    return this.#records.size;
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
    this.#records.append(record);
    writeSync(this.#lines, line, 0, line.length, this.#lineBytes);
    this.#lineBytes += line.length;
    return true;
  }

  /** Whether the table should contain the event at this index. */
  isWanted(index: number): boolean {
    return this.#records.at(index)[36] === 1;
  }

  /** The index of an event, or -1; looks at `guess` first. */
  find(uuid: string, guess: number): number {
    const wanted = Buffer.from(uuidBytes(uuid));
    if (guess >= 0 && guess < this.size && this.#compare(guess, wanted) === 0) return guess;
    let [low, high] = [0, this.size];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (this.#compare(middle, wanted) < 0) low = middle + 1;
      else high = middle;
    }
    return low < this.size && this.#compare(low, wanted) === 0 ? low : -1;
  }

  read(index: number): IndexedEvent {
    const record = this.#records.at(index);
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
    this.#records.close();
    closeSync(this.#lines);
  }

  #compare(index: number, uuid: Buffer): number {
    return this.#records.at(index).compare(uuid, 0, 16, 0, 16);
  }
}
