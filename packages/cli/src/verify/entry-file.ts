import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { entryBytes, eventIdFromUuid, uuidFromBytes } from '@indelible/protocol';

const blockEntries = 1_024;

/**
 * The entries of a log in a temporary file, by sequence, so that memory does not grow with the log.
 */
export class EntryFile {
  #fd: number | null = null;
  readonly #block = Buffer.alloc(blockEntries * entryBytes);
  #blockIndex = -1;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Appends the next entries, 60 bytes each. */
  append(entries: Uint8Array): void {
    this.#fd ??= openUnnamed();
    writeSync(this.#fd, entries, 0, entries.length, this.#size * entryBytes);
    this.#size += entries.length / entryBytes;
    this.#blockIndex = -1;
  }

  /** The entry at `sequence`, below `size`; the bytes are valid until the next call. */
  at(sequence: number): Uint8Array {
    const isKept = Number.isInteger(sequence) && sequence >= 0 && sequence < this.#size;
    if (this.#fd === null || !isKept) {
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

  /** The id of the event at `sequence`; null beyond the entries. */
  eventIdAt(sequence: number): string | null {
    if (sequence >= this.#size) return null;
    return eventIdFromUuid(uuidFromBytes(this.at(sequence), 12));
  }

  close(): void {
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = null;
  }
}

const lineFeed = Buffer.from('\n');
const chunkBytes = 1 << 20;

/** Lines in a temporary file without a name, to be read once, in order. */
export class LineFile {
  #fd: number | null = null;
  #lines = 0;

  get lines(): number {
    return this.#lines;
  }

  append(line: Uint8Array): void {
    this.#fd ??= openUnnamed();
    writeSync(this.#fd, line);
    writeSync(this.#fd, lineFeed);
    this.#lines += 1;
  }

  *chunks(): Generator<Buffer, void, undefined> {
    if (this.#fd === null) return;
    for (let at = 0; ; ) {
      const chunk = Buffer.alloc(chunkBytes);
      const read = readSync(this.#fd, chunk, 0, chunkBytes, at);
      if (read === 0) return;
      yield chunk.subarray(0, read);
      at += read;
    }
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
