import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import type { CsvColumn, EventCriteria } from '@indelible/client';
import { fileDigest } from '../bundle/checksums.ts';
import { FindingError } from '../io.ts';
import { interruptedExport, requireNew } from '../kept-file.ts';

/** The terms of a table: an interrupted download continues only with the same terms. */
export interface TableTerms {
  tenantId: string | null;
  format: 'csv' | 'ndjson';
  filters: EventCriteria;
  columns: readonly CsvColumn[] | null;
}

interface State {
  exportId: string;
  terms: TableTerms;
}

/**
 * A table being downloaded: `<file>.part` with the bytes so far, `<file>.part.json` with its
 * export. Renamed when it is complete and has the stated digest.
 */
export class PartFile {
  readonly #target: string;
  readonly #terms: TableTerms;
  #exportId: string | null;
  #fd: number | null = null;

  /**
   * Throws UsageError if the file exists, its folder does not, or the partial file of another table
   * exists.
   */
  constructor(target: string, terms: TableTerms) {
    this.#target = target;
    this.#terms = terms;
    // Checked before the service makes and records an export.
    requireNew(target, 'file');
    const begun = interruptedExport<State>(this.#part, this.#state, terms);
    this.#exportId = begun?.exportId ?? null;
  }

  get exportId(): string | null {
    return this.#exportId;
  }

  get bytes(): number {
    return existsSync(this.#part) ? statSync(this.#part).size : 0;
  }

  /** From now on the same command continues this export; drops bytes of another one. */
  begin(exportId: string): void {
    const state: State = { exportId, terms: this.#terms };
    writeFileSync(this.#state, JSON.stringify(state), { mode: 0o600 });
    writeFileSync(this.#part, '', { mode: 0o600 });
    this.#exportId = exportId;
  }

  append(bytes: Uint8Array): void {
    this.#fd ??= openSync(this.#part, 'a');
    writeSync(this.#fd, bytes);
  }

  /** SHA-256 of the bytes so far, in hexadecimal. */
  digest(): string {
    return fileDigest(this.#part);
  }

  /** Renames it to the table's name. */
  finish(): void {
    this.#fd ??= openSync(this.#part, 'a');
    fsyncSync(this.#fd);
    this.close();
    renameSync(this.#part, this.#target);
    rmSync(this.#state);
  }

  /** Drops the export: the next run begins a new one. */
  discard(): void {
    this.close();
    rmSync(this.#part, { force: true });
    rmSync(this.#state, { force: true });
    this.#exportId = null;
  }

  /** Keeps the export, drops its bytes. */
  empty(): void {
    this.close();
    truncateSync(this.#part);
  }

  /** The file's problem as a sentence; other errors unchanged. */
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
}
