import { randomUUID } from 'node:crypto';
import type { Database } from '../postgres/db.ts';
import { transaction } from '../postgres/transaction.ts';

/**
 * Throws the error that prevents writing; the test row is invisible to other sessions. Returns
 * whether commits wait for a replica while none is connected: a row taken back does not wait.
 */
export async function probeWrite(db: Database, timeoutMs: number): Promise<boolean> {
  const undone = new Error('the row of a probe is taken back');
  let waiting = false;
  await transaction(db.operations, async (tx) => {
    const question = {
      text: `INSERT INTO jobs (tenant_id, queue, id, data, due_at)
        VALUES ($1, 'probe', $1, '{}', now())
        RETURNING current_setting('synchronous_standby_names') <> ''
          AND NOT EXISTS (SELECT FROM pg_stat_replication) AS waiting`,
      values: [randomUUID()],
      query_timeout: timeoutMs,
    };
    const { rows } = await tx.query<{ waiting: boolean }>(question);
    waiting = rows[0]?.waiting === true;
    throw undone;
  }).catch((error: unknown) => {
    if (error !== undone) throw error;
  });
  return waiting;
}
