import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

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
