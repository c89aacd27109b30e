import { randomUUID } from 'node:crypto';
import { heldClass, type LogState, tileWidth } from '@indelible/protocol';
import { firstRow, type WriterTx } from '../postgres/index.ts';
import type { PublishedLog } from './published-logs.ts';
import { type LogHead, lockHeads } from './store.ts';

/* Statements of the owner role: no serving role may run them. */

/**
 * Prevents signing and recording in every process until the transaction ends; returns the last
 * round and the seed of the installation key.
 */
export async function stopLogs(tx: WriterTx): Promise<{ round: number; seed: Buffer }> {
  // Reading the rounds of the object store may take minutes.
  await tx.query('SET LOCAL idle_in_transaction_session_timeout = 0');
  const { rows } = await tx.query<{ round: number; seed: Buffer }>(
    'SELECT round, seed FROM log_rounds, installation_key FOR UPDATE OF log_rounds',
  );
  // If the contradiction was not found yet, recording is still possible without this lock.
  await tx.query('LOCK TABLE log_heads IN EXCLUSIVE MODE');
  const [row] = rows;
  if (!row) throw new Error('log_rounds or installation_key has lost its row');
  return row;
}

/**
 * Replaces the installation key, so that a copy of the database signs with another one, and forgets
 * the former object store: a host that still names that one is refused.
 */
export async function renewInstallation(tx: WriterTx): Promise<Buffer> {
  await tx.query('UPDATE installation SET store_id = NULL');
  const { rows } = await tx.query<{ seed: Buffer }>(
    'UPDATE installation_key SET seed = DEFAULT RETURNING seed',
  );
  return rows[0]?.seed ?? Buffer.alloc(0);
}

/** Recording and signing continue with the round after this one; clears alarms. */
export async function resumeAfter(tx: WriterTx, round: number): Promise<void> {
  await tx.query('UPDATE log_rounds SET round = $1, halted = NULL, alarm = NULL', [round]);
}

/** What remains of a tenant's log. */
export interface LogRecord {
  tenantId: string;
  /** Its ids: of its last checkpoint, then of its head, if they exist. */
  logIds: string[];
  head: LogState | null;
  /** The id in its last checkpoint, if one was released. */
  released: string | null;
}

/** For every tenant that exists, has a log or had a released checkpoint. */
export async function allLogs(tx: WriterTx): Promise<LogRecord[]> {
  interface Row {
    tenantId: string;
    released: string | null;
    logId: string | null;
    size: number | null;
    frontier: Buffer | null;
  }
  const { rows } = await tx.query<Row>(
    `SELECT tenant_id AS "tenantId", c.log_id AS released, h.log_id AS "logId", h.size, frontier
     FROM log_heads h FULL JOIN log_checkpoints c USING (tenant_id)
       FULL JOIN (SELECT id AS tenant_id FROM tenants) t USING (tenant_id) ORDER BY tenant_id`,
  );
  return rows.map(({ tenantId, released, logId, size, frontier }) => ({
    tenantId,
    logIds: [released, logId].filter((id) => id !== null),
    head: size === null || frontier === null ? null : { size, frontier },
    released,
  }));
}

/** The released checkpoints in the database, by log id. */
export async function releasedNotes(tx: WriterTx): Promise<Map<string, PublishedLog>> {
  const { rows } = await tx.query<PublishedLog>(
    `SELECT log_id AS "logId", size, root, note, round, signed_at AS "atMs"
     FROM log_checkpoints ORDER BY log_id`,
  );
  return new Map(rows.map((row) => [row.logId, row]));
}

/** Sets the log's released checkpoint to the published one; null: none was published. */
export async function keepCheckpoint(
  tx: WriterTx,
  tenantId: string,
  published: PublishedLog | null,
): Promise<void> {
  if (published === null) return forgetCheckpoint(tx, tenantId);
  const { logId, size, root, note, round, atMs } = published;
  await tx.query(
    `INSERT INTO log_checkpoints (tenant_id, log_id, size, root, note, round, signed_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7)
     ON CONFLICT (tenant_id) DO UPDATE SET log_id = excluded.log_id, size = excluded.size,
       root = excluded.root, note = excluded.note, round = excluded.round, signed_at = excluded.signed_at
     WHERE (log_checkpoints.log_id, log_checkpoints.size, log_checkpoints.root, log_checkpoints.note)
       IS DISTINCT FROM (excluded.log_id, excluded.size, excluded.root, excluded.note)`,
    [tenantId, logId, size, Buffer.from(root), note, round, new Date(atMs)],
  );
}

/** Restores the published id of a log, which only direct access to the tables can change. */
export async function keepLogId(tx: WriterTx, tenantId: string, logId: string): Promise<void> {
  const text = 'UPDATE log_heads SET log_id = $2 WHERE tenant_id = $1 AND log_id <> $2';
  const { rowCount } = await tx.query(text, [tenantId, logId]);
  if (rowCount === 1) await rewindReaders(tx, tenantId);
}

/** Webhooks and alerts continue at the end of the log if they were further. */
async function rewindReaders(tx: WriterTx, tenantId: string): Promise<void> {
  await tx.query('SELECT rewind_readers($1)', [tenantId]);
}

/**
 * Gives a tenant whose log lost its head a new empty one, with a new id. Null if the tenant is gone
 * as well. Its events may be of any retention class, and were received until now (in whole
 * milliseconds).
 */
export async function openHead(tx: WriterTx, tenantId: string): Promise<LogState | null> {
  const found = await tx.query<{ own: number; others: string; nowUs: number }>(
    `SELECT c.class AS own, array_remove(ARRAY(SELECT class FROM plans), c.class)::text AS others,
       (floor(extract(epoch FROM now()) * 1000) * 1000)::bigint AS "nowUs"
     FROM tenants JOIN plans c ON CASE WHEN legal_hold THEN c.class = ${heldClass} ELSE c.name = plan END
     WHERE id = $1`,
    [tenantId],
  );
  const [tenant] = found.rows;
  if (!tenant) return null;
  return firstRow<LogState>(tx)`
    INSERT INTO log_heads (tenant_id, log_id, retention_class, other_classes, last_received_us)
    VALUES (${tenantId}, ${randomUUID()}, ${tenant.own}, ${tenant.others}, ${tenant.nowUs})
    RETURNING size, frontier`;
}

/** Gives the log a new id, and so a new origin; its entries stay. Returns the id. */
export async function beginAnew(tx: WriterTx, tenantId: string): Promise<string> {
  const { rows } = await tx.query<{ logId: string }>(
    'UPDATE log_heads SET log_id = $2 WHERE tenant_id = $1 RETURNING log_id AS "logId"',
    [tenantId, randomUUID()],
  );
  const [row] = rows;
  if (!row) throw new Error('the tenant has no log');
  await rewindReaders(tx, tenantId);
  await forgetCheckpoint(tx, tenantId);
  return row.logId;
}

/** Removes the released checkpoint from the database; it stays in the object store. */
export async function forgetCheckpoint(tx: WriterTx, tenantId: string): Promise<void> {
  await tx.query('DELETE FROM log_checkpoints WHERE tenant_id = $1', [tenantId]);
}

/**
 * Removes foreign rows after the end of a log: entries from `size` on without an event, and tiles
 * over entries that are still in the tail. Really recorded entries stay.
 */
export async function dropForeign(tx: WriterTx, tenantId: string, size: number): Promise<void> {
  // An entry contains its event's id after twelve bytes.
  const hasEvent = (entry: string) =>
    `EXISTS (SELECT 1 FROM audit_events e WHERE e.tenant_id = $1 AND e.retention_class = ANY (ARRAY(SELECT class FROM plans))
       AND e.id = encode(substring(${entry} FROM 13 FOR 16), 'hex')::uuid)`;
  await tx.query(
    `DELETE FROM log_tiles t WHERE t.tenant_id = $1 AND t.level = 0
       AND t.index >= $2::bigint / ${tileWidth}
       AND (NOT ${hasEvent('t.data')} OR EXISTS (SELECT 1 FROM log_tail l WHERE l.tenant_id = $1
         AND l.sequence >= t.index * ${tileWidth} AND l.sequence < (t.index + 1) * ${tileWidth}))`,
    [tenantId, size],
  );
  await tx.query(
    `DELETE FROM log_tail l WHERE l.tenant_id = $1 AND l.sequence >= $2 AND NOT ${hasEvent('l.entry')}`,
    [tenantId, size],
  );
}

/** Whether entries are stored after the end of the log. */
export async function hasSurplus(tx: WriterTx, tenantId: string, size: number): Promise<boolean> {
  const { rows } = await tx.query<{ surplus: boolean }>(
    `SELECT EXISTS (SELECT 1 FROM log_tail WHERE tenant_id = $1 AND sequence >= $2)
       OR EXISTS (SELECT 1 FROM log_tiles WHERE tenant_id = $1 AND level = 0
         AND index >= $2::bigint / ${tileWidth}) AS surplus`,
    [tenantId, size],
  );
  return rows[0]?.surplus === true;
}

/** Empties the log to refill it; returns its locked head. */
export async function emptyLog(tx: WriterTx, tenantId: string): Promise<LogHead> {
  await tx.query('DELETE FROM log_tail WHERE tenant_id = $1', [tenantId]);
  await tx.query('DELETE FROM log_tiles WHERE tenant_id = $1', [tenantId]);
  await tx.query(`UPDATE log_heads SET size = 0, frontier = '' WHERE tenant_id = $1`, [tenantId]);
  const [head] = await lockHeads(tx, [tenantId], true);
  if (!head) throw new Error('the tenant has no log');
  return head;
}
