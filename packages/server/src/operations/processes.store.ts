import type { WriterTx } from '../postgres/index.ts';

/** A serving process's description of itself; secrets only as one-way values. */
export interface ServingProcess {
  isWorker: boolean;
  sessionSecret: Buffer;
  signingKey: Buffer;
  clockAheadMs: number;
}

type Query = Pick<WriterTx, 'query'>;

/** Stores that this process is serving. Deletes rows not renewed for a minute. */
export async function keepProcess(tx: Query, id: string, process: ServingProcess): Promise<void> {
  const { isWorker, sessionSecret, signingKey, clockAheadMs } = process;
  await tx.query(`DELETE FROM processes WHERE seen_at < now() - interval '1 minute'`);
  await tx.query({
    text: `INSERT INTO processes
        (id, seen_at, is_worker, session_secret, signing_key, clock_ahead_ms)
      VALUES ($1, now(), $2, $3, $4, $5)
      ON CONFLICT (id) DO UPDATE SET seen_at = now(), clock_ahead_ms = excluded.clock_ahead_ms`,
    values: [id, isWorker, sessionSecret, signingKey, clockAheadMs],
  });
}

export async function removeProcess(tx: Query, id: string): Promise<void> {
  await tx.query('DELETE FROM processes WHERE id = $1', [id]);
}

/** The processes that are serving now. */
export async function servingProcesses(tx: Query): Promise<ServingProcess[]> {
  const { rows } = await tx.query<ServingProcess>(
    `SELECT is_worker AS "isWorker", session_secret AS "sessionSecret", signing_key AS "signingKey",
       clock_ahead_ms AS "clockAheadMs"
     FROM processes WHERE seen_at > now() - interval '30 seconds'`,
  );
  return rows;
}

/** Queues with a due job, and how many seconds the most overdue one of each has waited. */
export type JobWaits = Readonly<Record<string, number>>;

export async function jobWaits(tx: Query, nowMs: number): Promise<JobWaits> {
  const { rows } = await tx.query<{ queue: string; seconds: number }>(
    `SELECT queue, extract(epoch FROM $1 - min(due_at))::float8 AS seconds
     FROM jobs WHERE due_at <= $1 GROUP BY queue`,
    [new Date(nowMs)],
  );
  return Object.fromEntries(rows.map(({ queue, seconds }) => [queue, seconds]));
}

/** What the metrics tell of the whole installation. */
export interface DatabaseState {
  bytes: number;
  /** By its own clock; before the first run, when the schema was made. */
  retentionRanMs: number;
}

export async function databaseState(tx: Query): Promise<DatabaseState> {
  const { rows } = await tx.query<DatabaseState>(
    `SELECT pg_database_size(current_database()) AS bytes,
       seen_at AS "retentionRanMs" FROM retention_clock`,
  );
  return rows[0] ?? { bytes: 0, retentionRanMs: 0 };
}
