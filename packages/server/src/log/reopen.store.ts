import { type LogState, tileWidth } from '@indelible/protocol';
import type { WriterTx } from '../db.ts';
import { type LogHead, lockHeads } from './store.ts';

/* Statements of the owner role: no serving role may run them. */

/** Keeps every process from signing and recording until the transaction ends; returns the last round. */
export async function stopLogs(tx: WriterTx): Promise<number> {
  const { rows } = await tx.query<{ round: number }>('SELECT round FROM log_rounds FOR UPDATE');
  // Where nobody has found the contradiction yet, recording goes on while a log is made anew.
  await tx.query('LOCK TABLE log_heads IN EXCLUSIVE MODE');
  return rows[0]?.round ?? 0;
}

/** Lets recording and signing go on, with the round that follows this one. */
export async function resumeAfter(tx: WriterTx, round: number): Promise<void> {
  await tx.query('UPDATE log_rounds SET round = $1, halted = NULL', [round]);
}

/** A log's head and what was last released of it: either may be missing. */
export interface LogRecord {
  tenantId: string;
  /** The one its last checkpoint names, else its head's. */
  logId: string;
  head: LogState | null;
  released: { size: number; root: Buffer; note: string } | null;
}

/** Every log there is or of which a checkpoint was released. */
export async function allLogs(tx: WriterTx): Promise<LogRecord[]> {
  interface Row {
    tenantId: string;
    logId: string;
    size: number | null;
    frontier: Buffer | null;
    releasedSize: number | null;
    root: Buffer | null;
    note: string | null;
  }
  const { rows } = await tx.query<Row>(
    `SELECT tenant_id AS "tenantId", coalesce(c.log_id, h.log_id) AS "logId", h.size, frontier,
       c.size AS "releasedSize", root, note
     FROM log_heads h FULL JOIN log_checkpoints c USING (tenant_id) ORDER BY tenant_id`,
  );
  return rows.map(({ tenantId, logId, size, frontier, releasedSize, root, note }) => ({
    tenantId,
    logId,
    head: size === null || frontier === null ? null : { size, frontier },
    released:
      releasedSize === null || root === null || note === null
        ? null
        : { size: releasedSize, root, note },
  }));
}

/** Gives a log the id back that it was published under: only somebody at the tables can change it. */
export async function keepLogId(tx: WriterTx, tenantId: string, logId: string): Promise<void> {
  const text = 'UPDATE log_heads SET log_id = $2 WHERE tenant_id = $1 AND log_id <> $2';
  await tx.query(text, [tenantId, logId]);
}

/**
 * Gives a tenant whose log lost its head another one, which counts no entries yet. Returns null when
 * the tenant is gone as well. Its events may be of any retention
 * class, received until now (whole milliseconds, as all are).
 */
export async function openHead(
  tx: WriterTx,
  tenantId: string,
  logId: string,
): Promise<LogState | null> {
  const { rows } = await tx.query<LogState>(
    `INSERT INTO log_heads (tenant_id, log_id, retention_class, other_classes, last_received_us)
       SELECT id, $2, class, array_remove('{0,1,2,3}'::smallint[], class),
         floor(extract(epoch FROM now()) * 1000) * 1000
       FROM tenants, LATERAL (SELECT (CASE WHEN legal_hold THEN 3
         ELSE array_position('{Starter,Pro,Enterprise}', plan) - 1 END)::smallint AS class) c
       WHERE id = $1 RETURNING size, frontier`,
    [tenantId, logId],
  );
  return rows[0] ?? null;
}

/** Gives the log a new id, and so a new origin; its entries stay. Returns the id. */
export async function beginAnew(tx: WriterTx, tenantId: string): Promise<string> {
  const { rows } = await tx.query<{ logId: string }>(
    'UPDATE log_heads SET log_id = gen_random_uuid() WHERE tenant_id = $1 RETURNING log_id AS "logId"',
    [tenantId],
  );
  const [row] = rows;
  if (!row) throw new Error('the tenant has no log');
  await forgetCheckpoint(tx, tenantId);
  return row.logId;
}

/** What was released stays in the object store; the database no longer answers for it. */
export async function forgetCheckpoint(tx: WriterTx, tenantId: string): Promise<void> {
  await tx.query('DELETE FROM log_checkpoints WHERE tenant_id = $1', [tenantId]);
}

/** Whether entries are stored behind the end of the log, where the next ones belong. */
export async function hasSurplus(tx: WriterTx, tenantId: string, size: number): Promise<boolean> {
  const { rows } = await tx.query<{ surplus: boolean }>(
    `SELECT EXISTS (SELECT FROM log_tail WHERE tenant_id = $1 AND sequence >= $2)
       OR EXISTS (SELECT FROM log_tiles WHERE tenant_id = $1 AND level = 0
         AND index >= $2::bigint / ${tileWidth}) AS surplus`,
    [tenantId, size],
  );
  return rows[0]?.surplus === true;
}

/** Empties the log to be filled again; returns its locked head. */
export async function emptyLog(tx: WriterTx, tenantId: string): Promise<LogHead> {
  await tx.query('DELETE FROM log_tail WHERE tenant_id = $1', [tenantId]);
  await tx.query('DELETE FROM log_tiles WHERE tenant_id = $1', [tenantId]);
  await tx.query(`UPDATE log_heads SET size = 0, frontier = '' WHERE tenant_id = $1`, [tenantId]);
  const [head] = await lockHeads(tx, [tenantId], true);
  if (!head) throw new Error('the tenant has no log');
  return head;
}
