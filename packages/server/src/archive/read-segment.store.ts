import type { DuckDBConnection, DuckDBValue } from '@duckdb/node-api';
import {
  type CommittedEvent,
  FormatError,
  segmentNames,
  storedFields,
  uuidFromEventId,
} from '@indelible/protocol';
import type { ArchivedBody, ArchivedRow } from './archived-row.ts';
import { openDuckDb, quoted } from './duckdb.ts';
import type { SegmentPaths } from './write-segment.ts';

// Casts, so that whatever stands in the file, what is read has the types that are read.
const text = (name: string) => `CAST("${name}" AS VARCHAR)`;
const blob = (name: string) => `CAST("${name}" AS BLOB)`;

/** The fields of an event that the files hold in columns of their own. */
const fields = storedFields.filter(
  ({ key, segment, kind }) => segment && kind !== 'eventId' && key !== 'tenantId',
);

const columns: Readonly<Record<string, string>> = {
  sequence: 'CAST(e.sequence AS BIGINT)',
  identitySequence: 'CAST(i.sequence AS BIGINT)',
  id: text('id'),
  receivedAt: 'epoch_us(CAST(received_at AS TIMESTAMP))',
  commitment: blob('commitment'),
  ...Object.fromEntries(
    fields.map(({ key, column, kind }) => [
      key,
      kind === 'boolean' ? `CAST(${column} AS BOOLEAN)` : text(column),
    ]),
  ),
  ...Object.fromEntries(
    segmentNames.flatMap((name) => {
      const salt = [`salt_${name}`, blob(`salt_${name}`)];
      return name === 'event' ? [salt] : [salt, [`hash_${name}`, blob(`hash_${name}`)]];
    }),
  ),
};

/**
 * Reads the rows of a segment's two files in order, in pages of at
 * most 2,048. Throws FormatError for files that are not those of a
 * segment; whether they say the truth is for the caller to find out.
 */
export async function* readSegment(
  folder: string,
  { events, identity }: SegmentPaths,
  tenantId: string,
): AsyncGenerator<ArchivedRow[], void, undefined> {
  const list = Object.entries(columns).map(([name, sql]) => `${sql} AS "${name}"`);
  // Both files have a row for every sequence, in order: a join without a table in memory.
  const sql = `SELECT ${list.join(', ')} FROM read_parquet(${quoted(events)}, hive_partitioning = false) e
    POSITIONAL JOIN read_parquet(${quoted(identity)}, hive_partitioning = false) i`;
  const { db, close } = await openDuckDb(folder);
  try {
    for await (const page of rowsOf(db, sql)) yield page.map((row) => readRow(row, tenantId));
  } finally {
    close();
  }
}

async function* rowsOf(db: DuckDBConnection, sql: string) {
  try {
    const result = await db.stream(sql);
    for await (const page of result.yieldRowObjects()) yield page;
  } catch (cause) {
    throw new FormatError(`it is not a part of an archive: ${firstLine(cause)}`);
  }
}

function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n', 1)[0] ?? '';
}

type Row = { [name in string]?: DuckDBValue };

function readRow(row: Row, tenantId: string): ArchivedRow {
  const sequence = count(row, 'sequence');
  const need = (fine: boolean, what: string) => {
    if (!fine) throw new FormatError(`the row of sequence ${sequence} has ${what}`);
  };
  const uuid = uuidFromEventId(textOf(row, 'id') ?? '');
  if (uuid === null) throw new FormatError(`the row of sequence ${sequence} has no event id`);
  need(sequence === count(row, 'identitySequence'), 'another sequence in the file of identities');
  const body = row.action === null ? null : bodyOf(row, tenantId, uuid);
  const commitment = bytes(row, 'commitment', 32);
  need(body !== null || commitment !== null, 'neither an event nor a commitment');
  return { sequence, uuid, receivedAtUs: count(row, 'receivedAt'), body, commitment };
}

function bodyOf(row: Row, tenantId: string, uuid: string): ArchivedBody {
  const event: Record<string, unknown> = { tenantId, uuid };
  for (const { key, kind, nullable } of fields) {
    if (kind === 'boolean') event[key] = row[key] === true;
    else event[key] = nullable ? textOf(row, key) : needed(row, key);
  }
  const salts = segmentNames.map((name) => bytes(row, `salt_${name}`, 16));
  const hashes = segmentNames.map((name) =>
    name === 'event' ? null : bytes(row, `hash_${name}`, 32),
  );
  return { event: event as unknown as CommittedEvent, salts, hashes };
}

function count(row: Row, name: string): number {
  const value = row[name];
  const number = typeof value === 'bigint' ? Number(value) : Number.NaN;
  if (Number.isSafeInteger(number) && number >= 0) return number;
  throw new FormatError(`a row has no ${name}`);
}

function textOf(row: Row, name: string): string | null {
  const value = row[name];
  return typeof value === 'string' ? value : null;
}

function needed(row: Row, name: string): string {
  const value = textOf(row, name);
  if (value !== null) return value;
  throw new FormatError(`an event has no ${name}`);
}

function bytes(row: Row, name: string, length: number): Uint8Array | null {
  const value = row[name];
  if (value === null || value === undefined) return null;
  const found = typeof value === 'object' && 'bytes' in value ? value.bytes : null;
  if (found instanceof Uint8Array && found.length === length) return found;
  throw new FormatError(`${name} has not ${length} bytes`);
}
