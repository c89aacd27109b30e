import { randomUUID } from 'node:crypto';
import type { Database } from '../postgres/db.ts';
import { transaction } from '../postgres/transaction.ts';

/** Throws the error that prevents writing; the test row is invisible to other sessions. */
export async function probeWrite(db: Database, timeoutMs: number): Promise<void> {
  const undone = new Error('the row of a probe is taken back');
  await transaction(db.operations, async (tx) => {
    const question = {
      text: `INSERT INTO jobs (tenant_id, queue, id, data, due_at)
        VALUES ($1, 'probe', $1, '{}', now())`,
      values: [randomUUID()],
      query_timeout: timeoutMs,
    };
    await tx.query(question);
    throw undone;
  }).catch((error: unknown) => {
    if (error !== undone) throw error;
  });
}
