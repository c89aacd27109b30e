import { randomUUID } from 'node:crypto';
import { heldClass, type LogState, tileWidth } from '@indelible/protocol';
import { mayPause, type WriterTx } from '../postgres/db.ts';
import { execute, firstRow, hasRow, raw, rowsOf, sql } from '../postgres/sql.ts';
import { keepRound } from './checkpoint.store.ts';
import type { PublishedLog } from './published-logs.ts';
import type { LogHead } from './sequencer.ts';
import { lockHeads } from './store.ts';

/* Statements of the owner role: no serving role may run them. */

/**
 * Prevents signing and recording in every process until the transaction ends; returns the last
 * round and the seed of the installation key.
 */
export async function stopLogs(tx: WriterTx): Promise<{ round: number; seed: Buffer }> {
  // Reading the rounds of the object store may take minutes.
  await mayPause(tx);
  const row = await firstRow<{ round: number; seed: Buffer }>(tx)`
    SELECT round, seed FROM log_rounds, installation_key FOR UPDATE OF log_rounds`;
  // If the contradiction was not found yet, recording is still possible without this lock.
  await tx.query('LOCK TABLE log_heads IN EXCLUSIVE MODE');
  if (!row) throw new Error('log_rounds or installation_key has lost its row');
  return row;
}

/**
 * Replaces the installation key, so that a copy of the database signs with another one, and forgets
 * the former object store: a host that still names that one is refused.
 */
export async function renewInstallation(tx: WriterTx): Promise<Buffer> {
  await execute(tx)`UPDATE installation SET store_id = NULL`;
  const row = await firstRow<{ seed: Buffer }>(tx)`
    UPDATE installation_key SET seed = DEFAULT RETURNING seed`;
  return row?.seed ?? Buffer.alloc(0);
}

/** Recording and signing continue with the round after this one; clears alarms. */
export async function resumeAfter(tx: WriterTx, round: number): Promise<void> {
  await execute(tx)`UPDATE log_rounds SET round = ${round}, halted = NULL, alarm = NULL`;
}

/** A reopening keeps its own round alone: those before it may be of another store, or given up. */
export async function keepOnly(tx: WriterTx, round: number, object: Uint8Array): Promise<void> {
  await execute(tx)`DELETE FROM round_objects`;
  await keepRound(tx, round, object);
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
  const rows = await rowsOf<Row>(tx)`
    SELECT tenant_id AS "tenantId", c.log_id AS released, h.log_id AS "logId", h.size, frontier
    FROM log_heads h FULL JOIN log_checkpoints c USING (tenant_id)
      FULL JOIN (SELECT id AS tenant_id FROM tenants) t USING (tenant_id) ORDER BY tenant_id`;
  return rows.map(({ tenantId, released, logId, size, frontier }) => ({
    tenantId,
    logIds: [released, logId].filter((id) => id !== null),
    head: size === null || frontier === null ? null : { size, frontier },
    released,
  }));
}

/** The released checkpoints in the database, by log id. */
export async function releasedNotes(tx: WriterTx): Promise<Map<string, PublishedLog>> {
  const rows = await rowsOf<PublishedLog>(tx)`
    SELECT log_id AS "logId", size, root, note, round, signed_at AS "atMs"
    FROM log_checkpoints ORDER BY log_id`;
  return new Map(rows.map((row) => [row.logId, row]));
}

/** Restores the published id of a log, which only direct access to the tables can change. */
export async function keepLogId(tx: WriterTx, tenantId: string, logId: string): Promise<void> {
  const isOther = await hasRow(tx)`UPDATE log_heads SET log_id = ${logId}
    WHERE tenant_id = ${tenantId} AND log_id <> ${logId}`;
  if (isOther) await rewindReaders(tx, tenantId);
}

/** Webhooks and alerts continue at the end of the log if they were further. */
async function rewindReaders(tx: WriterTx, tenantId: string): Promise<void> {
  await execute(tx)`SELECT rewind_readers(${tenantId})`;
}

/**
 * Gives a tenant whose log lost its head a new empty one, with a new id. Null if the tenant is gone
 * as well. Its events may be of any retention class, and were received until now (in whole
 * milliseconds).
 */
export async function openHead(tx: WriterTx, tenantId: string): Promise<LogState | null> {
  const tenant = await firstRow<{ own: number; others: string; nowUs: number }>(tx)`
    SELECT c.class AS own, array_remove(ARRAY(SELECT class FROM plans), c.class)::text AS others,
      (floor(extract(epoch FROM now()) * 1000) * 1000)::bigint AS "nowUs"
    FROM tenants
      JOIN plans c ON CASE WHEN legal_hold THEN c.class = ${raw(heldClass)} ELSE c.name = plan END
    WHERE id = ${tenantId}`;
  if (!tenant) return null;
  return firstRow<LogState>(tx)`
    INSERT INTO log_heads (tenant_id, log_id, retention_class, other_classes, last_received_us)
    VALUES (${tenantId}, ${randomUUID()}, ${tenant.own}, ${tenant.others}, ${tenant.nowUs})
    RETURNING size, frontier`;
}

/** Gives the log a new id, and so a new origin; its entries stay. Returns the id. */
export async function beginAnew(tx: WriterTx, tenantId: string): Promise<string> {
  const row = await firstRow<{ logId: string }>(tx)`
    UPDATE log_heads SET log_id = ${randomUUID()} WHERE tenant_id = ${tenantId}
    RETURNING log_id AS "logId"`;
  if (!row) throw new Error('the tenant has no log');
  await rewindReaders(tx, tenantId);
  await forgetCheckpoint(tx, tenantId);
  return row.logId;
}

/** Removes the released checkpoint from the database; it stays in the object store. */
export async function forgetCheckpoint(tx: WriterTx, tenantId: string): Promise<void> {
  await execute(tx)`DELETE FROM log_checkpoints WHERE tenant_id = ${tenantId}`;
}

/**
 * Removes foreign rows after the end of a log: entries from `size` on without an event, and tiles
 * over entries that are still in the tail. Really recorded entries stay.
 */
export async function dropForeign(tx: WriterTx, tenantId: string, size: number): Promise<void> {
  const width = raw(tileWidth);
  // An entry contains its event's id after twelve bytes.
  const hasEvent = (entry: string) => sql`
    EXISTS (SELECT 1 FROM audit_events e WHERE e.tenant_id = ${tenantId}
      AND e.retention_class = ANY (ARRAY(SELECT class FROM plans))
      AND e.id = encode(substring(${raw(entry)} FROM 13 FOR 16), 'hex')::uuid)`;
  await execute(tx)`
    DELETE FROM log_tiles t WHERE t.tenant_id = ${tenantId} AND t.level = 0
      AND t.index >= ${size}::bigint / ${width}
      AND (NOT ${hasEvent('t.data')} OR EXISTS (SELECT 1 FROM log_tail l WHERE l.tenant_id = ${tenantId}
        AND l.sequence >= t.index * ${width} AND l.sequence < (t.index + 1) * ${width}))`;
  await execute(tx)`
    DELETE FROM log_tail l WHERE l.tenant_id = ${tenantId} AND l.sequence >= ${size}
      AND NOT ${hasEvent('l.entry')}`;
}

/** Whether entries are stored after the end of the log. */
export async function hasSurplus(tx: WriterTx, tenantId: string, size: number): Promise<boolean> {
  return hasRow(tx)`
    SELECT 1 WHERE EXISTS (SELECT 1 FROM log_tail WHERE tenant_id = ${tenantId} AND sequence >= ${size})
      OR EXISTS (SELECT 1 FROM log_tiles WHERE tenant_id = ${tenantId} AND level = 0
        AND index >= ${size}::bigint / ${raw(tileWidth)})`;
}

/** Empties the log to refill it; returns its locked head. */
export async function emptyLog(tx: WriterTx, tenantId: string): Promise<LogHead> {
  await execute(tx)`DELETE FROM log_tail WHERE tenant_id = ${tenantId}`;
  await execute(tx)`DELETE FROM log_tiles WHERE tenant_id = ${tenantId}`;
  await execute(tx)`UPDATE log_heads SET size = 0, frontier = '' WHERE tenant_id = ${tenantId}`;
  const [head] = await lockHeads(tx, [tenantId], true);
  if (!head) throw new Error('the tenant has no log');
  return head;
}
