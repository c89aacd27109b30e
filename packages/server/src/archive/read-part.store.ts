import type { DuckDBConnection, DuckDBDataChunk } from '@duckdb/node-api';
import {
  type CommittedEvent,
  FormatError,
  parseHex,
  segmentNames,
  storedFields,
  uuidFromEventId,
  uuidTimeMs,
} from '@indelible/protocol';
import { sha } from '../crypto/sha256.ts';
import { type ArchivedBody, type ArchivedRow, withEventSalt } from './archived-row.ts';
import { type Column, eventColumns, identityColumns, isLaterColumn } from './columns.ts';
import { openDuckDb, quoted } from './duckdb.ts';
import { type PartPaths, partLimits } from './part.ts';

/** The fields of an event with columns in the files. */
const fields = storedFields.filter(
  ({ key, segment, kind }) => segment && kind !== 'eventId' && key !== 'tenantId',
);

/** What is read of two files `e` and `i`, by its name here; they have the types of `columns.ts`. */
const columns: Readonly<Record<string, string>> = {
  sequence: 'e.sequence',
  identitySequence: 'i.sequence',
  id: 'id',
  time: 'epoch_us("timestamp")',
  receivedAt: 'epoch_us(received_at)',
  commitment: 'commitment',
  version: 'entry_version',
  ...Object.fromEntries(fields.map(({ key, column }) => [key, column])),
  ...Object.fromEntries(
    segmentNames.flatMap((name) => {
      const [salt, hash] = [`salt_${name}`, `hash_${name}`];
      return name === 'event'
        ? [[salt, salt]]
        : [
            [salt, salt],
            [hash, hash],
          ];
    }),
  ),
};

/**
 * Reads the rows of a part's two files in order, in pages of at most 64. Throws FormatError if they
 * are not files of a part; the caller checks whether their content is true.
 */
export async function* readPart(
  folder: string,
  { events, identity }: PartPaths,
  tenantId: string,
): AsyncGenerator<ArchivedRow[], void, undefined> {
  const { db, close } = await openDuckDb(folder);
  try {
    const present = new Set([
      ...(await requirePartFile(db, events, eventColumns)),
      ...(await requirePartFile(db, identity, identityColumns)),
    ]);
    // Both files have a row for every sequence, in order: a join without a table in memory.
    const sql = `SELECT ${rowWith((name) => present.has(name))} FROM ${tableOf(events)} e
      POSITIONAL JOIN ${tableOf(identity)} i`;
    const result = await db.stream(sql);
    for await (const chunk of result) {
      for (let at = 0; at < chunk.rowCount; at += rowsAtOnce) yield rowsOf(chunk, at, tenantId);
    }
  } catch (cause) {
    if (cause instanceof FormatError) throw cause;
    const why = firstLine(cause).replaceAll(`${folder}/`, '');
    throw new FormatError(`it is not a part of an archive: ${why}`);
  } finally {
    close();
  }
}

/**
 * A row as the text of a JSON object: DuckDB takes a quarter of the time to hand over one text
 * instead of many values. Null in place of the columns that files of a former version lack.
 */
function rowWith(isPresent: (column: string) => boolean): string {
  const members = Object.entries(columns).map(([name, sql]) => {
    if (isLaterColumn(sql) && !isPresent(sql)) return `'${name}', NULL`;
    return `'${name}', ${/^(salt|hash)_|^commitment$/.test(name) ? `lower(hex(${sql}))` : sql}`;
  });
  return `json_object(${members.join(', ')})`;
}

/** What `rowOf` reads, of files that have all columns. */
export const wholeRow = rowWith(() => true);

const tableOf = (path: string) => `read_parquet(${quoted(path)}, hive_partitioning = false)`;

// Limits the rows held in JavaScript in addition to DuckDB's memory.
const rowsAtOnce = 64;

function rowsOf(chunk: DuckDBDataChunk, start: number, tenantId: string): ArchivedRow[] {
  const rows: ArchivedRow[] = [];
  const texts = chunk.getColumnVector(0);
  for (let at = start; at < Math.min(start + rowsAtOnce, chunk.rowCount); at += 1) {
    rows.push(rowOf(texts.getItem(at), tenantId));
  }
  return rows;
}

// Three bytes per character of the longest part, plus the uncounted fields.
const pageBytesMax = 3.5 * partLimits.characters;
const rowsMax = 10 * partLimits.entries;

/**
 * A few kilobytes of Parquet can expand to gigabytes: FormatError for other columns than a part
 * has, too many rows, or texts that would fill the memory. Returns the columns that it has.
 */
async function requirePartFile(db: DuckDBConnection, path: string, columns: readonly Column[]) {
  const table = tableOf(path);
  const types = new Map(await pairsOf(db, `DESCRIBE SELECT * FROM ${table}`));
  const expected = columns.filter(({ name }) => types.has(name) || !isLaterColumn(name));
  for (const { name, type } of expected) {
    if (types.get(name) !== type) throw new FormatError(`it has no column ${name} of ${type}`);
  }
  if (types.size > expected.length) throw new FormatError('it has columns that nothing proves');
  const [[rows] = []] = await pairsOf(
    db,
    `SELECT sum(num_rows) FROM parquet_file_metadata(${quoted(path)})`,
  );
  if (Number(rows) > rowsMax) throw new FormatError(`it has more than ${rowsMax} rows`);
  const lengths = expected
    .filter(({ type }) => type === 'VARCHAR' || type === 'BLOB')
    .map(
      ({ name, type }) => `coalesce(${type === 'BLOB' ? 'octet_length' : 'strlen'}("${name}"), 0)`,
    );
  const [[bytes] = []] = await pairsOf(
    db,
    `SELECT max(bytes) FROM (SELECT sum(bytes) AS bytes FROM (SELECT ${lengths.join(' + ')} AS bytes,
       row_number() OVER () - 1 AS row_index FROM ${table}) GROUP BY row_index // 2048)`,
  );
  if (Number(bytes) > pageBytesMax)
    throw new FormatError('its rows are too long for an archive part');
  return expected.map(({ name }) => name);
}

async function pairsOf(db: DuckDBConnection, sql: string): Promise<[string, string][]> {
  const rows = (await db.runAndReadAll(sql)).getRows();
  return rows.map(([first, second]) => [String(first), String(second)]);
}

function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n', 1)[0] ?? '';
}

type Row = Record<string, unknown>;

/** A `wholeRow`. Throws FormatError if no part has such a row. */
export function rowOf(text: unknown, tenantId: string): ArchivedRow {
  const row: Row = JSON.parse(String(text));
  const sequence = count(row, 'sequence');
  const need = (fine: boolean, what: string) => {
    if (!fine) throw new FormatError(`the row of sequence ${sequence} has ${what}`);
  };
  const uuid = uuidFromEventId(textOf(row, 'id') ?? '');
  if (uuid === null) throw new FormatError(`the row of sequence ${sequence} has no event id`);
  need(sequence === count(row, 'identitySequence'), 'another sequence in the file of identities');
  need(
    uuidTimeMs(uuid) * 1_000 === count(row, 'time'),
    'a timestamp that is not the time in its id',
  );
  const body = row.action === null ? null : bodyOf(row, tenantId, uuid);
  const commitment = bytes(row, 'commitment', 32);
  need(body !== null || commitment !== null, 'neither an event nor a commitment');
  const isAbsent = fields.every(({ key }) => row[key] === null);
  need(body !== null || isAbsent, 'parts of an event that is absent');
  const version = row.version ?? 1;
  if (version !== 1 && version !== 2) throw new FormatError('a row is of no known version');
  return { version, sequence, uuid, receivedAtUs: count(row, 'receivedAt'), body, commitment };
}

function bodyOf(row: Row, tenantId: string, uuid: string): ArchivedBody {
  const event: Record<string, unknown> = { tenantId, uuid };
  for (const { key, kind, nullable } of fields) {
    if (kind === 'boolean') event[key] = row[key] ?? needed(row, key);
    else event[key] = nullable ? textOf(row, key) : needed(row, key);
  }
  const salts = segmentNames.map((name) => bytes(row, `salt_${name}`, 16));
  const hashes = segmentNames.map((name) =>
    name === 'event' ? null : bytes(row, `hash_${name}`, 32),
  );
  const whole = withEventSalt(sha, salts);
  return { event: event as unknown as CommittedEvent, salts: whole, hashes };
}

function count(row: Row, name: string): number {
  const value = row[name];
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
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
  const value = textOf(row, name);
  const found = value === null ? null : parseHex(value);
  if (value === null || found?.length === length) return found;
  throw new FormatError(`${name} has not ${length} bytes`);
}
