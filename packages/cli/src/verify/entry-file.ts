import { closeSync, readSync, writeSync } from 'node:fs';
import { entryBytes } from '@indelible/protocol';
import { openUnnamed } from './line-file.ts';

const blockEntries = 1_024;

/**
 * The entries of a log in a temporary file, by sequence, so that memory does not grow with the log.
 */
export class EntryFile {
  readonly #fd = openUnnamed();
  readonly #block = Buffer.alloc(blockEntries * entryBytes);
  #blockIndex = -1;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Appends the next entries, 60 bytes each. */
  append(entries: Uint8Array): void {
    writeSync(this.#fd, entries, 0, entries.length, this.#size * entryBytes);
    this.#size += entries.length / entryBytes;
    this.#blockIndex = -1;
  }

  /** The entry at `sequence`, below `size`; the bytes are valid until the next call. */
  at(sequence: number): Uint8Array {
    if (!Number.isInteger(sequence) || sequence < 0 || sequence >= this.#size) {
      throw new RangeError(`entry ${sequence} has not been kept`);
    }
    // Bodies come nearly in the order of the log, so one block serves many of them.
    const index = Math.floor(sequence / blockEntries);
    if (index !== this.#blockIndex) {
      readSync(this.#fd, this.#block, 0, this.#block.length, index * this.#block.length);
      this.#blockIndex = index;
    }
    const at = (sequence - index * blockEntries) * entryBytes;
    return this.#block.subarray(at, at + entryBytes);
  }

  close(): void {
    closeSync(this.#fd);
  }
}
