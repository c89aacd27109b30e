import {
  closeSync,
  fdatasync,
  fdatasyncSync,
  ftruncateSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { encodeRecords } from './spool-records.ts';

/**
 * A spool file that is being written. Each append is one write to the operating system, so appended
 * events survive the end of the process; `sync` makes them survive the machine's.
 */
export class OpenSpoolFile {
  readonly #path: string;
  readonly #fd: number;
  #size = 0;
  /** Whether the folder entries of the file are synced too. */
  #isNamed = false;
  #isDirty = false;
  #isClosed = false;
  #syncing: Promise<void> | null = null;

  /** Throws if the file exists. */
  constructor(path: string) {
    this.#path = path;
    this.#fd = openSync(path, 'ax+', 0o600);
  }

  get size(): number {
    return this.#size;
  }

  /** Appends all of them or none; throws errors of the file system. */
  append(texts: readonly string[]): void {
    const lines = encodeRecords(texts);
    try {
      for (let at = 0; at < lines.length; ) at += writeSync(this.#fd, lines, at);
    } catch (error) {
      // A full disk writes a part: removed, so that the next record starts on its own line.
      ftruncateSync(this.#fd, this.#size);
      throw error;
    }
    this.#size += lines.length;
    this.#isDirty = true;
  }

  /** Clears the file, after everything in it was delivered. */
  empty(): void {
    ftruncateSync(this.#fd, 0);
    this.#size = 0;
  }

  read(from: number): Buffer {
    const bytes = Buffer.allocUnsafe(this.#size - from);
    let at = 0;
    while (at < bytes.length) {
      const count = readSync(this.#fd, bytes, at, bytes.length - at, from + at);
      if (count === 0) break;
      at += count;
    }
    return bytes.subarray(0, at);
  }

  /** Writes appended events to the disk, without blocking. */
  async sync(): Promise<void> {
    while (this.#syncing !== null) await this.#syncing;
    if (!this.#isDirty || this.#isClosed) return;
    this.#isDirty = false;
    this.#syncing = this.#toDisk().finally(() => {
      this.#syncing = null;
    });
    await this.#syncing;
  }

  async #toDisk(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      fdatasync(this.#fd, (error) => (error ? reject(error) : resolve()));
    });
    if (this.#isNamed) return;
    this.#isNamed = true;
    const folder = dirname(this.#path);
    for (const each of [folder, dirname(folder)]) await syncFolder(each);
  }

  async close(): Promise<void> {
    try {
      await this.sync();
    } finally {
      this.#close();
    }
  }

  closeSync(): void {
    try {
      if (this.#isDirty) fdatasyncSync(this.#fd);
    } finally {
      // While the thread pool syncs it, its file descriptor must not be closed and reused.
      if (this.#syncing === null) this.#close();
    }
  }

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    closeSync(this.#fd);
  }
}

/** Windows cannot sync a folder; its file systems do so themselves. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path).catch(() => null);
  await folder?.sync().catch(() => {});
  await folder?.close();
}

/** The temporary path of a rewritten spool file, until it replaces the former one. */
const unfinishedPath = (path: string): string => `${path}.new`;

/** Replaces a spool file by one with these records, atomically; returns its bytes. */
export function rewriteSpoolFile(path: string, texts: readonly string[]): number {
  const lines = encodeRecords(texts);
  try {
    writeDurably(unfinishedPath(path), lines);
    renameSync(unfinishedPath(path), path);
  } catch (error) {
    rmSync(unfinishedPath(path), { force: true }); // a disk that is full must not be filled by it
    throw error;
  }
  return lines.length;
}

function writeDurably(path: string, bytes: Buffer): void {
  const fd = openSync(path, 'w', 0o600);
  try {
    writeFileSync(fd, bytes);
    fdatasyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
