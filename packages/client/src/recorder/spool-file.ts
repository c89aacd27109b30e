import {
  closeSync,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { crc32 } from 'node:zlib';

/** A file of events, in the order in which they were recorded. */
export interface SpoolFile {
  path: string;
  /** While events are appended to it. */
  open: OpenSpoolFile | null;
  size: number;
  /** Undelivered events in it. */
  events: number;
  /** Bytes from here on are not read yet. */
  readTo: number;
  isDamaged: boolean;
}

/** The spool files of a taken-over folder, in the order in which they were written. */
export function spoolFilesIn(folder: string): SpoolFile[] {
  const names = readdirSync(folder).filter((name) => /^\d{10}\.log$/.test(name));
  return names.sort().map((name) => {
    const path = join(folder, name);
    const { size } = statSync(path);
    return { path, open: null, size, events: linesIn(path), readTo: 0, isDamaged: false };
  });
}

/** The number of events, before damaged lines are known: each record is a line. */
function linesIn(path: string): number {
  const bytes = readFileSync(path);
  let lines = 0;
  for (let at = bytes.indexOf(0x0a); at !== -1; at = bytes.indexOf(0x0a, at + 1)) lines += 1;
  return lines;
}

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

/** Appends all bytes to a file or none, and syncs it to the disk. */
export function appendDurably(path: string, bytes: Buffer): void {
  const fd = openSync(path, 'a', 0o600);
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
    const checksum = crc32(lines.subarray(at + headerBytes, at + headerBytes + length));
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
  return crc32(bytes.subarray(start, start + size)) === Number.parseInt(checksum, 16) ? size : null;
}

const hex = (value: number) => value.toString(16).padStart(8, '0');
