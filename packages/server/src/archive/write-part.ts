import type { ArchivedRow } from '../cold/archived-row.ts';
import { eventColumns, identityColumns } from '../cold/columns.ts';

/** The two Parquet files of a part. */
export interface WrittenPart {
  events: Uint8Array;
  identity: Uint8Array;
}

/**
 * Writes rows, in order, as the files of a part. The same rows give the same bytes, so that after a
 * lost answer an upload can be recognised.
 */
export async function openPartWriter() {
  // Only here: a start of the service does not load the library.
  const { ParquetFile } = await import('./parquet-file.ts');
  const [events, identity] = [new ParquetFile(eventColumns), new ParquetFile(identityColumns)];
  return {
    append(row: ArchivedRow): void {
      events.append(row);
      identity.append(row);
    },
    end: (): WrittenPart => ({ events: events.end(), identity: identity.end() }),
  };
}
