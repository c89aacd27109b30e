import type { ArchivedRow } from '../cold/archived-row.ts';
import { eventColumns, identityColumns } from '../cold/columns.ts';
import type { ParquetFile } from './parquet-file.ts';

/** The two Parquet files of a part. */
export interface WrittenPart {
  events: Uint8Array;
  identity: Uint8Array;
}

/**
 * Writes rows, in order, as the files of a part. The same rows give the same bytes, so that after a
 * lost answer an upload can be recognised.
 */
export class PartWriter {
  readonly #events: ParquetFile;
  readonly #identity: ParquetFile;

  private constructor(events: ParquetFile, identity: ParquetFile) {
    this.#events = events;
    this.#identity = identity;
  }

  static async open(): Promise<PartWriter> {
    // Only here: a start of the service does not load the library.
    const { ParquetFile } = await import('./parquet-file.ts');
    return new PartWriter(new ParquetFile(eventColumns), new ParquetFile(identityColumns));
  }

  append(row: ArchivedRow): void {
    this.#events.append(row);
    this.#identity.append(row);
  }

  end(): WrittenPart {
    return { events: this.#events.end(), identity: this.#identity.end() };
  }
}
