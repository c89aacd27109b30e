import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const blockRecords = 1_024;

/** Records of one length in a temporary file, so that memory does not grow with their number. */
export class RecordFile {
  readonly #recordBytes: number;
  readonly #block: Buffer;
  #fd: number | null = null;
  #blockIndex = -1;
  #size = 0;

  constructor(recordBytes: number) {
    this.#recordBytes = recordBytes;
    this.#block = Buffer.alloc(blockRecords * recordBytes);
  }

  get size(): number {
    return this.#size;
  }

  /** Appends one or several records. */
  append(records: Uint8Array): void {
    this.#fd ??= openUnnamed();
    writeSync(this.#fd, records, 0, records.length, this.#size * this.#recordBytes);
    this.#size += records.length / this.#recordBytes;
    this.#blockIndex = -1;
  }

  /** The record at an index below `size`; the bytes are valid until the next call. */
  at(index: number): Buffer {
    const isKept = Number.isInteger(index) && index >= 0 && index < this.#size;
    if (this.#fd === null || !isKept) throw new RangeError(`entry ${index} has not been kept`);
    // Records are read nearly in their order, so one block serves many of them.
    const block = Math.floor(index / blockRecords);
    if (block !== this.#blockIndex) {
      readSync(this.#fd, this.#block, 0, this.#block.length, block * this.#block.length);
      this.#blockIndex = block;
    }
    const at = (index - block * blockRecords) * this.#recordBytes;
    return this.#block.subarray(at, at + this.#recordBytes);
  }

  close(): void {
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = null;
  }
}

/** A new file for this process only; it disappears however the process ends. */
export function openUnnamed(): number {
  const folder = mkdtempSync(join(tmpdir(), 'indelible-verify-'));
  try {
    return openSync(join(folder, 'kept'), 'wx+', 0o600);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
