import { eventOf, sourceOf } from '../delivery/ready-event.ts';

/** The statements of the outbox on the host's database. */

/** Runs a statement on the relay's connection. */
export type Query = (
  text: string,
  values?: unknown[],
) => PromiseLike<{ rows: Record<string, unknown>[] }>;

/** A table's quoted name, and the names of its index. */
export interface OutboxTable {
  quoted: string;
  dueIndex: string;
  /** The source that numbers its rows, and the table of its next numbers. */
  source: { id: string; numbers: string } | null;
}

/** Throws TypeError unless the name is a plain identifier, with or without a schema. */
export function outboxTable(name: string, source?: string): OutboxTable {
  if (!/^[a-z_][a-z0-9_]{0,52}(\.[a-z_][a-z0-9_]{0,52})?$/.test(name)) {
    throw new TypeError(`the outbox table ${JSON.stringify(name)} is not a lower-case identifier`);
  }
  const quoted = (text: string) => `"${text.replace('.', '"."')}"`;
  return {
    quoted: quoted(name),
    dueIndex: `"${name.split('.').at(-1)}_due"`,
    source: source === undefined ? null : { id: source, numbers: quoted(`${name}_numbers`) },
  };
}

/** Creates what is missing; may run repeatedly. */
export function migrationSql(table: OutboxTable): string {
  const { quoted, dueIndex, source } = table;
  // Rows come and go, so vacuum after a number of deleted rows instead of a share of the table.
  return `CREATE TABLE IF NOT EXISTS ${quoted} (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  event_id text NOT NULL,
  tenant_id text,
  event text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  rejected_at timestamptz,
  rejected_code text,
  rejected_reason text
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
CREATE INDEX IF NOT EXISTS ${dueIndex} ON ${quoted} (id) WHERE rejected_at IS NULL;
${source === null ? '' : numbersSql(quoted, source.numbers)}`;
}

const numbersSql = (quoted: string, numbers: string) =>
  `ALTER TABLE ${quoted} ADD COLUMN IF NOT EXISTS source_sequence bigint;
CREATE TABLE IF NOT EXISTS ${numbers} (tenant_id text PRIMARY KEY, next bigint NOT NULL);
`;

/** Parameters: the event's id, its tenant or null, its JSON text. */
export function insertSql({ quoted }: OutboxTable): string {
  return `INSERT INTO ${quoted} (event_id, tenant_id, event) VALUES ($1, $2, $3)`;
}

// An arbitrary number that separates our locks from the host's locks on the same table.
const lockClass = 1_768_844_396;

/** The lock belongs to the table, whatever its name and schema. */
const lockKey = ({ quoted }: OutboxTable) => `${lockClass}, '${quoted}'::regclass::oid::integer`;

/**
 * Whether this connection holds the right to relay. Asked before each sweep, because a library that
 * reconnects by itself would have lost it silently. PostgreSQL releases it when the connection
 * ends. Taken only once, because each take needs a release.
 */
export async function takeLock(query: Query, table: OutboxTable): Promise<boolean> {
  const { rows } = await query(
    `SELECT CASE WHEN EXISTS (
       SELECT FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND objsubid = 2
       AND classid = ${lockClass} AND objid = '${table.quoted}'::regclass
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
     ) THEN true ELSE pg_try_advisory_lock(${lockKey(table)}) END AS held`,
  );
  return rows[0]?.held === true;
}

export async function releaseLock(query: Query, table: OutboxTable): Promise<void> {
  await query(`SELECT pg_advisory_unlock(${lockKey(table)})`);
}

export interface DueRow {
  id: string;
  tenantId: string;
  bytes: number;
}

/** The first rows to send, in order, from one snapshot; without held tenants. */
export async function dueRows(
  query: Query,
  { quoted }: OutboxTable,
  rowsMax: number,
  heldTenants: readonly string[],
): Promise<DueRow[]> {
  const { rows } = await query(
    `SELECT id::text AS id, coalesce(tenant_id, '') AS tenant_id, octet_length(event) AS bytes
     FROM ${quoted}
     WHERE rejected_at IS NULL AND coalesce(tenant_id, '') <> ALL ($2::text[])
     ORDER BY ${quoted}.id LIMIT $1`,
    [rowsMax, heldTenants],
  );
  return rows.map((row) => ({
    id: String(row.id),
    tenantId: String(row.tenant_id),
    bytes: Number(row.bytes),
  }));
}

export interface OutboxRow {
  id: string;
  eventId: string;
  tenantId: string;
  text: string;
}

/**
 * Numbers the rows of these ids that have no number yet, without gaps for each tenant. Not at the
 * insert: rolled-back transactions would leave gaps, and a counter would let transactions wait for
 * each other. Only the relay that holds the lock calls this.
 */
export async function numberRows(
  query: Query,
  { quoted, source }: OutboxTable,
  ids: readonly string[],
): Promise<void> {
  if (source === null || ids.length === 0) return;
  await query(
    `WITH due AS (
       SELECT id, coalesce(tenant_id, '') AS tenant_id,
         row_number() OVER (PARTITION BY tenant_id ORDER BY id) AS nth
       FROM ${quoted} WHERE id = ANY ($1::bigint[]) AND source_sequence IS NULL
     ), counted AS (SELECT tenant_id, count(*) AS rows FROM due GROUP BY tenant_id), taken AS (
       INSERT INTO ${source.numbers} AS n (tenant_id, next) SELECT tenant_id, rows FROM counted
       ON CONFLICT (tenant_id) DO UPDATE SET next = n.next + excluded.next RETURNING tenant_id, next
     )
     UPDATE ${quoted} AS o SET source_sequence = taken.next - counted.rows + due.nth - 1
     FROM due JOIN counted USING (tenant_id) JOIN taken USING (tenant_id) WHERE o.id = due.id`,
    [ids],
  );
}

/** The rows of these ids that still exist, in order, with their numbers. */
export async function readRows(
  query: Query,
  { quoted, source }: OutboxTable,
  ids: readonly string[],
): Promise<OutboxRow[]> {
  const number = source === null ? 'NULL' : 'source_sequence';
  const { rows } = await query(
    `SELECT id::text AS id, event_id, coalesce(tenant_id, '') AS tenant_id, event,
       ${number} AS source_sequence FROM ${quoted}
     WHERE id = ANY ($1::bigint[]) AND rejected_at IS NULL ORDER BY ${quoted}.id`,
    [ids],
  );
  return rows.map((row) => ({
    id: String(row.id),
    eventId: String(row.event_id),
    tenantId: String(row.tenant_id),
    text: stamped(row, source),
  }));
}

/** The event with its number, unless the host product has given it one. */
function stamped(row: Record<string, unknown>, source: OutboxTable['source']): string {
  const text = String(row.event);
  if (source === null || row.source_sequence === null) return text;
  const event = eventOf(text);
  if (event.id === undefined || event.source !== undefined) return text;
  const id = sourceOf(source.id, String(row.tenant_id));
  return JSON.stringify({ ...event, source: { id, sequence: Number(row.source_sequence) } });
}

/** Deletes rows that the service has stored. */
export async function removeRows(
  query: Query,
  { quoted }: OutboxTable,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  await query(`DELETE FROM ${quoted} WHERE id = ANY ($1::bigint[])`, [ids]);
}

export interface Rejection {
  id: string;
  code: string;
  reason: string;
}

/** Marks rows that the service will never accept; they stay in the table for inspection. */
export async function markRejected(
  query: Query,
  { quoted }: OutboxTable,
  rejections: readonly Rejection[],
): Promise<void> {
  if (rejections.length === 0) return;
  await query(
    `UPDATE ${quoted} AS o SET rejected_at = now(), rejected_code = r.code, rejected_reason = r.reason
     FROM unnest($1::bigint[], $2::text[], $3::text[]) AS r (id, code, reason) WHERE o.id = r.id`,
    (['id', 'code', 'reason'] as const).map((name) => rejections.map((each) => each[name])),
  );
}

const countMax = 100_000;

/** The numbers of waiting and rejected rows, each counted up to 100,000. */
export async function countRows(
  query: Query,
  { quoted }: OutboxTable,
): Promise<{ due: number; rejected: number }> {
  const first = (condition: string) =>
    `(SELECT count(*)::int FROM (SELECT FROM ${quoted} WHERE ${condition} LIMIT $1) AS x)`;
  const { rows } = await query(
    `SELECT ${first('rejected_at IS NULL')} AS due, ${first('rejected_at IS NOT NULL')} AS rejected`,
    [countMax],
  );
  return { due: Number(rows[0]?.due), rejected: Number(rows[0]?.rejected) };
}
