import { randomUUID } from 'node:crypto';
import type { Database } from '../postgres/db.ts';
import { transaction } from '../postgres/transaction.ts';

/**
 * Writes half a MiB to a temporary file, in 2 ms. On a full disk the row of the probe may still
 * find room in the last page of its table, while events fail.
 */
const fileText = `SELECT max(length(filler)) FROM (
  SELECT repeat('x', 8000) AS filler FROM generate_series(1, 64) AS n ORDER BY n DESC OFFSET 0) AS s`;

/**
 * Throws the error that prevents writing; the test row is invisible to other sessions. Returns
 * whether commits wait for a replica while none is connected: a row taken back does not wait.
 */
export async function probeWrite(db: Database, timeoutMs: number): Promise<boolean> {
  const undone = new Error('the row of a probe is taken back');
  let waiting = false;
  await transaction(db.operations, async (tx) => {
    const ask = (text: string, values: string[] = []) => {
      const question = { text, values, query_timeout: timeoutMs };
      return tx.query<{ waiting: boolean }>(question);
    };
    const row = `INSERT INTO jobs (tenant_id, queue, id, data, due_at)
      VALUES ($1, 'probe', $1, '{}', now())
      RETURNING current_setting('synchronous_standby_names') <> ''
        AND NOT EXISTS (SELECT FROM pg_stat_replication) AS waiting`;
    const [answer] = await Promise.all([
      ask(row, [randomUUID()]),
      ask("SET LOCAL work_mem = '64kB'"),
      ask(fileText),
    ]);
    waiting = answer.rows[0]?.waiting === true;
    throw undone;
  }).catch((error: unknown) => {
    if (error !== undone) throw error;
  });
  return waiting;
}
