import type { WriterTx } from '../db.ts';

/* Statements of the owner role: no serving role may run them. */

export async function lastRound(tx: WriterTx): Promise<number> {
  const { rows } = await tx.query<{ round: number }>('SELECT round FROM log_rounds FOR UPDATE');
  return rows[0]?.round ?? 0;
}

export async function clearHalt(tx: WriterTx): Promise<void> {
  await tx.query('UPDATE log_rounds SET halted = NULL');
}

/** Gives the log a new id, and so a new origin; its entries stay. Returns the id. */
export async function beginAnew(tx: WriterTx, tenantId: string): Promise<string> {
  const { rows } = await tx.query<{ logId: string }>(
    'UPDATE log_heads SET log_id = gen_random_uuid() WHERE tenant_id = $1 RETURNING log_id AS "logId"',
    [tenantId],
  );
  await tx.query('DELETE FROM log_checkpoints WHERE tenant_id = $1', [tenantId]);
  const [row] = rows;
  if (!row) throw new Error('the tenant has no log');
  return row.logId;
}
