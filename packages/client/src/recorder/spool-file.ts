import {
  closeSync,
  fdatasync,
  fdatasyncSync,
  fstatSync,
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
    this.#fd = openSync(path, 'wx+', 0o600);
  }

  /** Appends all of them or none; throws errors of the file system. */
  append(texts: readonly string[]): void {
    const lines = encodeRecords(texts);
    try {
      for (let at = 0; at < lines.length; ) {
        // With a position, because what a failed write left may be there still.
        at += writeSync(this.#fd, lines, at, lines.length - at, this.#size + at);
      }
    } catch (error) {
      cutTo(this.#fd, this.#size); // a full disk writes a part
      throw error;
    }
    this.#size += lines.length;
    this.#isDirty = true;
  }

  /** Clears the file, after everything in it was delivered. */
  empty(): void {
    cutTo(this.#fd, 0);
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
    writeDurably(unfinishedPath(path), 'w', lines);
    renameSync(unfinishedPath(path), path);
  } catch (error) {
    rmSync(unfinishedPath(path), { force: true }); // a disk that is full must not be filled by it
    throw error;
  }
  return lines.length;
}

/** Replaces the file, or appends to it (`a`), all bytes or none, and syncs it to the disk. */
export function writeDurably(path: string, flag: 'w' | 'a', bytes: Buffer): void {
  const fd = openSync(path, flag, 0o600);
  const { size } = fstatSync(fd);
  try {
    writeFileSync(fd, bytes);
    fdatasyncSync(fd);
  } catch (error) {
    cutTo(fd, size);
    throw error;
  } finally {
    closeSync(fd);
  }
}

/** If even this fails, the error of the write says more; the next write goes over the rest. */
function cutTo(fd: number, size: number): void {
  try {
    ftruncateSync(fd, size);
  } catch {}
}

/*
 * The records of a spool file: lines of text, so that an operator can read them.
 *
 *   <length: 8 hex> <CRC-32: 8 hex> <JSON>\n
 *
 * Length and checksum are of the JSON's bytes (UTF-8). JSON text holds no line feed, so that
 * reading goes on at the next line behind anything that is damaged.
 */

const headerBytes = 18;
const headerExpression = /^([0-9a-f]{8}) ([0-9a-f]{8}) $/;
const lineFeed = 0x0a;

/** The bytes of a record besides its JSON. */
export const recordOverhead = headerBytes + 1;

export function encodeRecords(texts: readonly string[]): Buffer {
  let size = 0;
  for (const text of texts) size += Buffer.byteLength(text) + recordOverhead;
  const lines = Buffer.allocUnsafe(size);
  let at = 0;
  for (const text of texts) {
    const length = lines.write(text, at + headerBytes);
    const checksum = crc32(lines, at + headerBytes, length);
    lines.write(`${hex(length)} ${hex(checksum)} `, at, 'latin1');
    at += headerBytes + length;
    lines[at] = lineFeed;
    at += 1;
  }
  return lines;
}

/**
 * The records in `bytes`, which start at a line and end at the end of the file. `damagedBytes` are
 * not a record: an incomplete or changed line.
 */
export function decodeRecords(bytes: Buffer) {
  const texts: string[] = [];
  let damagedBytes = 0;
  for (let at = 0; at < bytes.length; ) {
    const length = recordLength(bytes, at);
    if (length !== null) {
      texts.push(bytes.toString('utf8', at + headerBytes, at + headerBytes + length));
      at += headerBytes + length + 1;
      continue;
    }
    const end = bytes.indexOf(lineFeed, at);
    const next = end === -1 ? bytes.length : end + 1;
    damagedBytes += next - at;
    at = next;
  }
  return { texts, damagedBytes };
}

/** Length of the JSON of the record at `at`; null if it is not complete. */
function recordLength(bytes: Buffer, at: number): number | null {
  const header = bytes.toString('latin1', at, at + headerBytes);
  const [, length = '', checksum = ''] = headerExpression.exec(header) ?? [];
  if (length === '') return null;
  const start = at + headerBytes;
  const size = Number.parseInt(length, 16);
  if (bytes[start + size] !== lineFeed) return null;
  return crc32(bytes, start, size) === Number.parseInt(checksum, 16) ? size : null;
}

const hex = (value: number) => value.toString(16).padStart(8, '0');

// The polynomial of zlib (IEEE 802.3), reflected. Not every version of Node 20 has zlib.crc32.
const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

/** CRC-32 of `length` bytes from `start`, unsigned. */
export function crc32(bytes: Uint8Array, start: number, length: number): number {
  let value = 0xffffffff;
  for (let at = start; at < start + length; at += 1) {
    value = (value >>> 8) ^ (table[(value ^ (bytes[at] ?? 0)) & 255] ?? 0);
  }
  return ~value >>> 0;
}
