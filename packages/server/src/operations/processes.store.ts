import type { Queries } from '../postgres/db.ts';
import { execute, firstRow, rowsOf } from '../postgres/sql.ts';

/** A serving process's description of itself; secrets only as one-way values. */
export interface ServingProcess {
  isWorker: boolean;
  sessionSecret: Buffer;
  signingKey: Buffer;
  clockAheadMs: number;
}

/** Stores that this process is serving. Deletes rows not renewed for a minute. */
export async function keepProcess(tx: Queries, id: string, process: ServingProcess): Promise<void> {
  const { isWorker, sessionSecret, signingKey, clockAheadMs } = process;
  await execute(tx)`DELETE FROM processes WHERE seen_at < now() - interval '1 minute'`;
  await execute(tx)`INSERT INTO processes
      (id, seen_at, is_worker, session_secret, signing_key, clock_ahead_ms)
    VALUES (${id}, now(), ${isWorker}, ${sessionSecret}, ${signingKey}, ${clockAheadMs})
    ON CONFLICT (id) DO UPDATE SET seen_at = now(), clock_ahead_ms = excluded.clock_ahead_ms`;
}

export async function removeProcess(tx: Queries, id: string): Promise<void> {
  await execute(tx)`DELETE FROM processes WHERE id = ${id}`;
}

export async function servingProcesses(tx: Queries): Promise<ServingProcess[]> {
  return rowsOf<ServingProcess>(tx)`
    SELECT is_worker AS "isWorker", session_secret AS "sessionSecret", signing_key AS "signingKey",
      clock_ahead_ms AS "clockAheadMs" FROM processes WHERE seen_at > now() - interval '30 seconds'`;
}

/** Queues with a due job, and how many seconds the most overdue one of each has waited. */
export type JobWaits = Readonly<Record<string, number>>;

export async function jobWaits(tx: Queries, nowMs: number): Promise<JobWaits> {
  const rows = await rowsOf<{ queue: string; seconds: number }>(tx)`
    SELECT queue, extract(epoch FROM ${new Date(nowMs)} - min(due_at))::float8 AS seconds FROM jobs
    WHERE due_at <= ${new Date(nowMs)} GROUP BY queue`;
  return Object.fromEntries(rows.map(({ queue, seconds }) => [queue, seconds]));
}

/** What the metrics tell of the whole installation. */
export interface DatabaseState {
  bytes: number;
  /** By its own clock; before the first run, when the schema was made. */
  retentionRanMs: number;
}

export async function databaseState(tx: Queries): Promise<DatabaseState> {
  const row = await firstRow<DatabaseState>(tx)`
    SELECT pg_database_size(current_database()) AS bytes, seen_at AS "retentionRanMs"
    FROM retention_clock`;
  return row ?? { bytes: 0, retentionRanMs: 0 };
}
