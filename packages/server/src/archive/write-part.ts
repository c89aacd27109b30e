import { join } from 'node:path';
import type { DuckDBAppender, DuckDBConnection, DuckDBTimestampValue } from '@duckdb/node-api';
import {
  type ArchivedRow,
  type Column,
  eventColumns,
  identityColumns,
  openDuckDb,
  type PartPaths,
  quoted,
} from '../cold/index.ts';

/**
 * Writes rows, in order, as the two Parquet files of a part into `folder`. The same rows give the
 * same bytes, so that after a lost answer an upload can be recognised.
 */
export async function writePart(
  folder: string,
  pages: AsyncIterable<readonly ArchivedRow[]>,
): Promise<PartPaths> {
  const { db, library, close } = await openDuckDb(folder);
  const time = (us: number) => new library.DuckDBTimestampValue(BigInt(us));
  try {
    // Outside a transaction each flush would be one, at twice the time.
    await db.run('BEGIN');
    await create(db, 'events', eventColumns);
    await create(db, 'identity', identityColumns);
    const events = await db.createAppender('events');
    const identity = await db.createAppender('identity');
    for await (const page of pages) {
      for (const row of page) {
        append(events, eventColumns, row, time);
        append(identity, identityColumns, row, time);
        if (row.sequence % flushedRows === 0) {
          events.flushSync();
          identity.flushSync();
        }
      }
    }
    events.closeSync();
    identity.closeSync();
    return {
      events: await copy(db, 'events', folder),
      identity: await copy(db, 'identity', folder),
    };
  } finally {
    close();
  }
}

// Else a copy of the whole part is in memory beside the tables.
const flushedRows = 8_192;

function create(db: DuckDBConnection, table: string, columns: readonly Column[]) {
  const list = columns.map(({ name, type }) => `"${name}" ${type}`).join(', ');
  return db.run(`CREATE TABLE ${table} (${list})`);
}

function append(
  appender: DuckDBAppender,
  columns: readonly Column[],
  row: ArchivedRow,
  time: (microseconds: number) => DuckDBTimestampValue,
): void {
  for (const { type, of } of columns) {
    const value = of(row);
    if (value === null) appender.appendNull();
    else if (typeof value === 'string') appender.appendVarchar(value);
    else if (typeof value === 'boolean') appender.appendBoolean(value);
    else if (typeof value !== 'number') appender.appendBlob(value);
    else if (type === 'TIMESTAMP') appender.appendTimestamp(time(value));
    else appender.appendBigInt(BigInt(value));
  }
  appender.endRow();
}

// Version 1 of the format's encodings: version 2 saves 2 % and is not read everywhere. Above zstd's
// level 9 more time saves no more space. A whole row group is in memory; a larger one saves 3 %.
const format =
  "FORMAT parquet, PARQUET_VERSION 'V1', COMPRESSION zstd, COMPRESSION_LEVEL 9, ROW_GROUP_SIZE 32768";

async function copy(db: DuckDBConnection, table: string, folder: string): Promise<string> {
  const path = join(folder, `${table}.parquet`);
  await db.run(`COPY (SELECT * FROM ${table} ) TO ${quoted(path)} (${format})`);
  return path;
}
