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
}

/** Throws TypeError unless the name is a plain identifier, with or without a schema. */
export function outboxTable(name: string): OutboxTable {
  if (!/^[a-z_][a-z0-9_]{0,52}(\.[a-z_][a-z0-9_]{0,52})?$/.test(name)) {
    throw new TypeError(`the outbox table ${JSON.stringify(name)} is not a lower-case identifier`);
  }
  const parts = name.split('.');
  return {
    quoted: parts.map((part) => `"${part}"`).join('.'),
    dueIndex: `"${parts.at(-1)}_due"`,
  };
}

/** Creates what is missing; may run repeatedly. */
export function migrationSql({ quoted, dueIndex }: OutboxTable): string {
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
`;
}

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

/** The rows of these ids that still exist, in order. */
export async function readRows(
  query: Query,
  { quoted }: OutboxTable,
  ids: readonly string[],
): Promise<OutboxRow[]> {
  const { rows } = await query(
    `SELECT id::text AS id, event_id, coalesce(tenant_id, '') AS tenant_id, event FROM ${quoted}
     WHERE id = ANY ($1::bigint[]) AND rejected_at IS NULL ORDER BY ${quoted}.id`,
    [ids],
  );
  return rows.map((row) => ({
    id: String(row.id),
    eventId: String(row.event_id),
    tenantId: String(row.tenant_id),
    text: String(row.event),
  }));
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
    [
      rejections.map(({ id }) => id),
      rejections.map(({ code }) => code),
      rejections.map(({ reason }) => reason),
    ],
  );
}

/** The numbers of waiting and rejected rows, each counted up to `countMax`. */
export async function countRows(
  query: Query,
  { quoted }: OutboxTable,
  countMax: number,
): Promise<{ due: number; rejected: number }> {
  const first = (condition: string) =>
    `(SELECT count(*)::int FROM (SELECT FROM ${quoted} WHERE ${condition} LIMIT $1) AS x)`;
  const { rows } = await query(
    `SELECT ${first('rejected_at IS NULL')} AS due, ${first('rejected_at IS NOT NULL')} AS rejected`,
    [countMax],
  );
  return { due: Number(rows[0]?.due), rejected: Number(rows[0]?.rejected) };
}
