import { dirname } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import {
  type CommittedEvent,
  FormatError,
  segmentNames,
  storedFields,
  uuidFromEventId,
  uuidTimeMs,
} from '@indelible/protocol';
import {
  type AsyncBuffer,
  asyncBufferFromFile,
  type FileMetaData,
  parquetMetadataAsync,
  parquetReadObjects,
  type SchemaElement,
  snappyUncompress,
} from 'hyparquet';
import { sha } from '../crypto/sha256.ts';
import { type ArchivedBody, type ArchivedRow, withEventSalt } from './archived-row.ts';
import { type Column, eventColumns, identityColumns, isLaterColumn } from './columns.ts';
import { type PartPaths, partLimits } from './part.ts';

/** The fields of an event with columns in the files. */
const fields = storedFields.filter(
  ({ key, segment, kind }) => segment && kind !== 'eventId' && key !== 'tenantId',
);

/**
 * Reads the rows of a part's two files in order, in pages of at most 64. A row group of each is in
 * memory. Throws FormatError if they are not files of a part; the caller checks whether their
 * content is true.
 */
export async function* readPart(
  { events, identity }: PartPaths,
  tenantId: string,
): AsyncGenerator<ArchivedRow[], void, undefined> {
  try {
    const identities = rowGroups(await openTable(identity, identityColumns));
    let group: Row[] = [];
    let at = 0;
    for await (const rows of rowGroups(await openTable(events, eventColumns))) {
      for (let start = 0; start < rows.length; start += rowsAtOnce) {
        const page: ArchivedRow[] = [];
        for (const row of rows.slice(start, start + rowsAtOnce)) {
          if (at === group.length) [group, at] = [(await identities.next()).value ?? [], 0];
          page.push(rowOf({ ...row, ...identityOf(group[at++]) }, tenantId));
        }
        yield page;
      }
    }
    const hasMore = at < group.length || (await identities.next()).done !== true;
    if (hasMore) throw new FormatError('the file of identities has more rows');
  } catch (cause) {
    if (cause instanceof FormatError) throw cause;
    const why = cause instanceof Error ? cause.message : String(cause);
    // The report names no temporary folder.
    const told = why.replaceAll(`${dirname(events)}/`, '');
    throw new FormatError(`it is not a part of an archive: ${told}`);
  }
}

// The caller handles one page at a time.
const rowsAtOnce = 64;

/** Values by column; of the identity file, its sequence has another name. */
type Row = Readonly<Record<string, unknown>>;

function identityOf(row: Row = {}): Row {
  const { sequence, ...columns } = row;
  return { ...columns, identity_sequence: sequence };
}

interface Table {
  file: AsyncBuffer;
  metadata: FileMetaData;
}

// Three bytes per character of the longest part, plus the uncounted fields.
const groupBytesMax = 3.5 * partLimits.characters;
const rowsMax = 10 * partLimits.entries;

/** Throws FormatError for other columns than a part has, or too many rows. */
async function openTable(path: string, columns: readonly Column[]): Promise<Table> {
  const file = await asyncBufferFromFile(path);
  const metadata = await parquetMetadataAsync(file, { geoparquet: false });
  const types = new Map(metadata.schema.slice(1).map((element) => [element.name, typeOf(element)]));
  const expected = columns.filter(({ name }) => types.has(name) || !isLaterColumn(name));
  for (const { name, type } of expected) {
    if (types.get(name) !== type) throw new FormatError(`it has no column ${name} of ${type}`);
  }
  if (metadata.schema.length > expected.length + 1)
    throw new FormatError('it has columns that nothing proves');
  if (metadata.num_rows > rowsMax) throw new FormatError(`it has more than ${rowsMax} rows`);
  return { file, metadata };
}

/** The type of a plain column; null for any other. */
function typeOf(element: SchemaElement): Column['type'] | null {
  const { type, converted_type: kind, logical_type: logical, num_children } = element;
  if (num_children || element.repetition_type === 'REPEATED') return null;
  if (type === 'BOOLEAN') return 'BOOLEAN';
  if (type === 'BYTE_ARRAY' && kind === 'UTF8') return 'VARCHAR';
  if (type === 'BYTE_ARRAY' && !kind && !logical) return 'BLOB';
  if (type !== 'INT64') return null;
  if (kind === 'TIMESTAMP_MICROS')
    return logical?.type === 'TIMESTAMP' && logical.isAdjustedToUTC ? null : 'TIMESTAMP';
  return kind === undefined || kind === 'INT_64' ? 'BIGINT' : null;
}

/**
 * The rows, one row group after the other. A few kilobytes of Parquet can expand to gigabytes:
 * FormatError if the pages or the texts of a group are longer than those of the longest part.
 */
async function* rowGroups({ file, metadata }: Table): AsyncGenerator<Row[], void, undefined> {
  let rowStart = 0;
  for (const { num_rows } of metadata.row_groups) {
    const rowEnd = rowStart + Number(num_rows);
    if (rowEnd > rowsMax) throw new FormatError(`it has more than ${rowsMax} rows`);
    const compressors = boundedCompressors();
    const range = { file, metadata, rowStart, rowEnd };
    const rows = await parquetReadObjects({ ...range, compressors, parsers, utf8: false });
    requireShort(rows);
    yield rows;
    rowStart = rowEnd;
  }
}

/** These count the bytes that they make. */
function boundedCompressors() {
  let left = groupBytesMax;
  const take = (bytes: number) => {
    left -= bytes;
    if (left < 0) throw tooLong();
  };
  return {
    ZSTD(input: Uint8Array, bytes: number): Uint8Array {
      take(bytes);
      return zstdDecompressSync(input, { maxOutputLength: Math.max(1, bytes) });
    },
    SNAPPY(input: Uint8Array, bytes: number): Uint8Array {
      take(bytes);
      const output = new Uint8Array(bytes);
      snappyUncompress(input, output);
      return output;
    },
  };
}

/** Equal texts are one string in memory, but each is hashed. */
function requireShort(rows: readonly Row[]): void {
  let characters = 0;
  for (const row of rows) {
    for (const value of Object.values(row)) {
      if (typeof value === 'string') characters += value.length;
    }
  }
  if (characters > groupBytesMax) throw tooLong();
}

const tooLong = () => new FormatError('its rows are too long for an archive part');

const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const parsers = {
  stringFromBytes: (bytes: Uint8Array | undefined) => bytes && text.decode(bytes),
  timestampFromMicroseconds: (micros: bigint) => micros,
};

/** Throws FormatError if no part has such a row. */
function rowOf(row: Row, tenantId: string): ArchivedRow {
  const sequence = count(row, 'sequence');
  const need = (fine: boolean, what: string) => {
    if (!fine) throw new FormatError(`the row of sequence ${sequence} has ${what}`);
  };
  const uuid = uuidFromEventId(textOf(row, 'id') ?? '');
  if (uuid === null) throw new FormatError(`the row of sequence ${sequence} has no event id`);
  need(sequence === count(row, 'identity_sequence'), 'another sequence in the file of identities');
  need(
    uuidTimeMs(uuid) * 1_000 === count(row, 'timestamp'),
    'a timestamp that is not the time in its id',
  );
  const body = textOf(row, 'action') === null ? null : bodyOf(row, tenantId, uuid);
  const commitment = bytes(row, 'commitment', 32);
  need(body !== null || commitment !== null, 'neither an event nor a commitment');
  const isAbsent = fields.every(({ column }) => (row[column] ?? null) === null);
  need(body !== null || isAbsent, 'parts of an event that is absent');
  const version = Number(row.entry_version ?? 1);
  if (version !== 1 && version !== 2) throw new FormatError('a row is of no known version');
  return { version, sequence, uuid, receivedAtUs: count(row, 'received_at'), body, commitment };
}

function bodyOf(row: Row, tenantId: string, uuid: string): ArchivedBody {
  const event: Record<string, unknown> = { tenantId, uuid };
  for (const { key, column, kind, nullable } of fields) {
    if (kind === 'boolean') event[key] = row[column] ?? needed(row, column);
    else event[key] = nullable ? textOf(row, column) : needed(row, column);
  }
  const salts = segmentNames.map((name) => bytes(row, `salt_${name}`, 16));
  const hashes = segmentNames.map((name) =>
    name === 'event' ? null : bytes(row, `hash_${name}`, 32),
  );
  const whole = withEventSalt(sha, salts);
  return { event: event as unknown as CommittedEvent, salts: whole, hashes };
}

function count(row: Row, name: string): number {
  const value = Number(row[name] ?? Number.NaN);
  if (Number.isSafeInteger(value) && value >= 0) return value;
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
  const value = row[name] ?? null;
  if (value === null || (value instanceof Uint8Array && value.length === length)) return value;
  throw new FormatError(`${name} has not ${length} bytes`);
}
