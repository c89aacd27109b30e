import { createHash } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
  createReadStream,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { EventCriteria } from '@indelible/client';
import { FindingError, UsageError } from '../exit-codes.ts';

/** What a table is of: a download that was cut off is only continued by the same. */
export interface TableTerms {
  tenantId: string | null;
  format: 'csv' | 'ndjson';
  filters: EventCriteria;
  columns: readonly string[] | null;
}

/**
 * A table on its way: `<file>.part` with the bytes so far and
 * `<file>.part.json` with the export that the service makes for it.
 * It gets its name when it is whole, and what the service said it is.
 */
export class PartFile {
  readonly #target: string;
  readonly #terms: TableTerms;
  #exportId: string | null;
  #fd: number | null = null;

  /**
   * Throws UsageError when the file exists, its folder does
   * not, or the beginning of another one lies in the way.
   */
  constructor(target: string, terms: TableTerms) {
    this.#target = target;
    this.#terms = terms;
    // Before the service makes, and records, what there would be no place for.
    requireFolder(dirname(target));
    if (existsSync(target)) throw new UsageError(`${target} exists already; name another file`);
    this.#exportId = this.#begun();
  }

  /** The export that was begun for this file, or null. */
  get exportId(): string | null {
    return this.#exportId;
  }

  /** Bytes that are there. */
  get bytes(): number {
    return existsSync(this.#part) ? statSync(this.#part).size : 0;
  }

  /** From now on the same command continues this export; what there was of another one is gone. */
  begin(exportId: string): void {
    writeFileSync(this.#state, JSON.stringify({ exportId, terms: this.#terms }), { mode: 0o600 });
    writeFileSync(this.#part, '', { mode: 0o600 });
    this.#exportId = exportId;
  }

  append(bytes: Uint8Array): void {
    this.#fd ??= openSync(this.#part, 'a');
    writeSync(this.#fd, bytes);
  }

  /** SHA-256 of what is there, in hexadecimal. */
  async digest(): Promise<string> {
    const hash = createHash('sha256');
    for await (const chunk of createReadStream(this.#part)) hash.update(chunk);
    return hash.digest('hex');
  }

  /** Gives the table its name. */
  finish(): void {
    this.#fd ??= openSync(this.#part, 'a');
    fsyncSync(this.#fd);
    this.close();
    renameSync(this.#part, this.#target);
    rmSync(this.#state);
  }

  /** Forgets the export: the next run begins a new one. */
  discard(): void {
    this.close();
    rmSync(this.#part, { force: true });
    rmSync(this.#state, { force: true });
    this.#exportId = null;
  }

  /** Keeps the export, but none of its bytes. */
  empty(): void {
    this.close();
    truncateSync(this.#part);
  }

  /** What went wrong with the file as a sentence; any other error as it is. */
  problemOf(error: unknown): unknown {
    if (!(error instanceof Error && 'syscall' in error && 'code' in error)) return error;
    return new FindingError(
      `${this.#part} cannot be written (${error.code}); fix that, then run the same ` +
        'command again to continue',
    );
  }

  close(): void {
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = null;
  }

  get #part(): string {
    return `${this.#target}.part`;
  }

  get #state(): string {
    return `${this.#target}.part.json`;
  }

  #begun(): string | null {
    if (!existsSync(this.#state)) {
      if (existsSync(this.#part)) throw this.#inTheWay();
      return null;
    }
    const { exportId, terms } = readState(this.#state) ?? {};
    if (!exportId || !isDeepStrictEqual(terms, { ...this.#terms })) throw this.#inTheWay();
    return exportId;
  }

  #inTheWay(): UsageError {
    return new UsageError(`${this.#part} belongs to another export; remove it first`);
  }
}

function requireFolder(path: string): void {
  try {
    accessSync(path, constants.W_OK | constants.X_OK);
    if (statSync(path).isDirectory()) return;
  } catch {
    // the same sentence
  }
  throw new UsageError(`${path} is not a writable folder`);
}

function readState(path: string): { exportId: string; terms: TableTerms } | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return null;
  }
}
