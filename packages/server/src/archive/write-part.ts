import { type ArchivedRow, eventColumns, identityColumns } from '../cold/index.ts';
import { ParquetFile } from './parquet/parquet-file.ts';

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
  const events = new ParquetFile(eventColumns);
  const identity = new ParquetFile(identityColumns);
  for await (const page of pages) {
    await events.append(page);
    await identity.append(page);
  }
  return { events: await events.end(), identity: await identity.end() };
}
