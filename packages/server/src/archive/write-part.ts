import { type ArchivedRow, eventColumns, identityColumns } from '../cold/index.ts';

/** The two Parquet files of a part. */
export interface WrittenPart {
  events: Uint8Array;
  identity: Uint8Array;
}

/**
 * Writes rows, in order, as the files of a part. The same rows give the same bytes, so that after a
 * lost answer an upload can be recognised.
 */
export async function writePart(
  pages: AsyncIterable<readonly ArchivedRow[]>,
): Promise<WrittenPart> {
  // Only here: a start of the service does not load the library.
  const { ParquetFile } = await import('./parquet-file.ts');
  const events = new ParquetFile(eventColumns);
  const identity = new ParquetFile(identityColumns);
  for await (const page of pages) {
    events.append(page);
    identity.append(page);
  }
  return { events: events.end(), identity: identity.end() };
}
