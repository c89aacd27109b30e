import type { DuckDBConnection, DuckDBValue } from '@duckdb/node-api';
import {
  type CommittedEvent,
  FormatError,
  segmentNames,
  uuidFromEventId,
} from '@indelible/protocol';
import type { ArchivedBody, ArchivedRow } from './archived-row.ts';
import { openDuckDb, quoted } from './duckdb.ts';
import type { SegmentPaths } from './write-segment.ts';

// Casts, so that whatever stands in the file, what is read has the types that are read.
const text = (name: string) => `CAST("${name}" AS VARCHAR)`;
const blob = (name: string) => `CAST("${name}" AS BLOB)`;

const columns = {
  sequence: 'CAST(e.sequence AS BIGINT)',
  identitySequence: 'CAST(i.sequence AS BIGINT)',
  id: text('id'),
  receivedAt: 'epoch_us(CAST(received_at AS TIMESTAMP))',
  commitment: blob('commitment'),
  actorId: text('actor_id'),
  actorEmail: text('actor_email'),
  actorRole: text('actor_role'),
  actorIp: text('actor_ip'),
  actorUserAgent: text('actor_user_agent'),
  action: text('action'),
  resourceType: text('resource_type'),
  resourceId: text('resource_id'),
  resourceName: text('resource_name'),
  diff: text('diff'),
  crossTenant: 'CAST(cross_tenant AS BOOLEAN)',
  reason: text('reason'),
  category: text('category'),
  recordedByKind: text('recorded_by_kind'),
  recordedById: text('recorded_by_id'),
  before: text('before'),
  after: text('after'),
  salt_change: blob('salt_change'),
  salt_event: blob('salt_event'),
  salt_identity: blob('salt_identity'),
  salt_state: blob('salt_state'),
  hash_change: blob('hash_change'),
  hash_identity: blob('hash_identity'),
  hash_state: blob('hash_state'),
} as const;

type Name = keyof typeof columns;

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

type Row = { [name in Name]?: DuckDBValue };

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
  const event: CommittedEvent = {
    tenantId,
    uuid,
    actorId: needed(row, 'actorId'),
    actorEmail: textOf(row, 'actorEmail'),
    actorRole: needed(row, 'actorRole'),
    actorIp: textOf(row, 'actorIp'),
    actorUserAgent: textOf(row, 'actorUserAgent'),
    action: needed(row, 'action'),
    resourceType: needed(row, 'resourceType'),
    resourceId: needed(row, 'resourceId'),
    resourceName: textOf(row, 'resourceName'),
    diff: needed(row, 'diff'),
    crossTenant: row.crossTenant === true,
    reason: textOf(row, 'reason'),
    category: needed(row, 'category'),
    recordedByKind: needed(row, 'recordedByKind'),
    recordedById: needed(row, 'recordedById'),
    before: textOf(row, 'before'),
    after: textOf(row, 'after'),
  };
  const salts = segmentNames.map((name) => bytes(row, `salt_${name}`, 16));
  const hashes = segmentNames.map((name) =>
    name === 'event' ? null : bytes(row, `hash_${name}`, 32),
  );
  return { event, salts, hashes };
}

function count(row: Row, name: Name): number {
  const value = row[name];
  const number = typeof value === 'bigint' ? Number(value) : Number.NaN;
  if (Number.isSafeInteger(number) && number >= 0) return number;
  throw new FormatError(`a row has no ${name}`);
}

function textOf(row: Row, name: Name): string | null {
  const value = row[name];
  return typeof value === 'string' ? value : null;
}

function needed(row: Row, name: Name): string {
  const value = textOf(row, name);
  if (value !== null) return value;
  throw new FormatError(`an event has no ${name}`);
}

function bytes(row: Row, name: Name, length: number): Uint8Array | null {
  const value = row[name];
  if (value === null || value === undefined) return null;
  const found = typeof value === 'object' && 'bytes' in value ? value.bytes : null;
  if (found instanceof Uint8Array && found.length === length) return found;
  throw new FormatError(`${name} has not ${length} bytes`);
}
