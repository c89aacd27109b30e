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
 * A spool file that is being written. Each append is one write to the system, so that what
 * was appended outlives the process however it ends; `sync` makes it outlive the machine.
 */
export class OpenSpoolFile {
  readonly #path: string;
  readonly #fd: number;
  #size = 0;
  /** Whether the folders that name the file are on the disk too. */
  #isNamed = false;
  #isDirty = false;
  #isClosed = false;
  #syncing: Promise<void> | null = null;

  /** Throws when the file is there already. */
  constructor(path: string) {
    this.#path = path;
    this.#fd = openSync(path, 'ax+', 0o600);
  }

  get size(): number {
    return this.#size;
  }

  /** Appends all of them or none; throws what the file system says. */
  append(texts: readonly string[]): void {
    const lines = encodeRecords(texts);
    try {
      for (let at = 0; at < lines.length; ) at += writeSync(this.#fd, lines, at);
    } catch (error) {
      // A full disk takes a part: the next record must begin a line of its own.
      ftruncateSync(this.#fd, this.#size);
      throw error;
    }
    this.#size += lines.length;
    this.#isDirty = true;
  }

  /** Forgets everything in the file, all of which is delivered. */
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

  /** Brings what was appended to the disk, without holding anybody up. */
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
      // One that the thread pool is still bringing to the disk must not lose its number to another.
      if (this.#syncing === null) this.#close();
    }
  }

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    closeSync(this.#fd);
  }
}

/** Where a folder cannot be brought to the disk by itself (Windows), the file system does so. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path).catch(() => null);
  await folder?.sync().catch(() => {});
  await folder?.close();
}

/** The temporary path of a rewritten spool file, until it replaces the former one. */
const unfinishedPath = (path: string): string => `${path}.new`;

/**
 * Replaces a spool file by one with these records, completely or not at all; returns its bytes.
 */
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
