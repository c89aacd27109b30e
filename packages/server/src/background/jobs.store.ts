import type { Queries, WriterTx } from '../postgres/db.ts';
import { execute, firstRow, hasRow, sql } from '../postgres/sql.ts';
import type { Leased } from './leased-worker.ts';

/* Statements of the queue: they span tenants; each except the claim is its own transaction. */

interface JobKey {
  tenantId: string;
  queue: string;
  id: string;
}

/** A job that this process may attempt until its lease ends. */
export interface ClaimedJob extends JobKey, Leased {
  /** JSON text. */
  data: string;
  /** Number of this attempt, from 1. */
  attempts: number;
}

/** How a queue is claimed from. */
export interface OpenQueue {
  name: string;
  /** The most running jobs of one tenant, over all processes. */
  perTenant: number;
  /** Whether its jobs record events, so that they wait while recording is stopped. */
  records: boolean;
}

export async function insertJob(
  tx: Queries,
  { tenantId, queue, id }: JobKey,
  data: object,
  priority: number,
  nowMs: number,
): Promise<void> {
  await execute(tx)`INSERT INTO jobs (tenant_id, queue, id, data, priority, due_at)
    VALUES (${tenantId}, ${queue}, ${id}, ${JSON.stringify(data)}, ${priority}, ${new Date(nowMs)})`;
}

/** Deletes an unfinished job; its process notices at `renewLease`. */
export async function deleteJob(tx: Queries, { tenantId, queue, id }: JobKey): Promise<void> {
  await execute(tx)`DELETE FROM jobs
    WHERE tenant_id = ${tenantId} AND queue = ${queue} AND id = ${id}`;
}

/**
 * Takes the due job of highest priority, then the one that has been due longest. A job with an
 * expired lease is due: its process has crashed, or was stopped.
 */
export async function claimJob(
  tx: WriterTx,
  queues: readonly OpenQueue[],
  lease: string,
  nowMs: number,
  untilMs: number,
): Promise<ClaimedJob | null> {
  // All processes claim one after the other: two concurrent claims would not count each other, and
  // exceed `perTenant`.
  const locked = execute(tx)`SELECT pg_advisory_xact_lock(hashtext('indelible.jobs'))`;
  const claimed = firstRow<ClaimedJob>(tx)`
    WITH open AS (SELECT * FROM unnest(${queues.map(({ name }) => name)}::text[],
        ${queues.map(({ perTenant }) => perTenant)}::int[],
        ${queues.map(({ records }) => records)}::bool[]) AS q (queue, per_tenant, records)),
    due AS MATERIALIZED (SELECT tenant_id AS t, j.queue AS q, id AS i
      FROM jobs j JOIN open USING (queue)
      WHERE due_at <= ${new Date(nowMs)}
        AND (NOT records OR (SELECT halted IS NULL FROM log_rounds))
        AND (SELECT count(*) FROM jobs o WHERE o.queue = j.queue AND o.tenant_id = j.tenant_id
          AND o.lease IS NOT NULL AND o.due_at > ${new Date(nowMs)}) < per_tenant
      ORDER BY priority DESC, due_at, id LIMIT 1 FOR UPDATE OF j SKIP LOCKED)
    UPDATE jobs SET lease = ${lease}, due_at = ${new Date(untilMs)}, attempts = attempts + 1
    FROM due WHERE tenant_id = t AND queue = q AND id = i
    RETURNING tenant_id AS "tenantId", queue, id, data, attempts, lease`;
  const [, job] = await Promise.all([locked, claimed]);
  return job;
}

const leased = ({ tenantId, queue, id, lease }: ClaimedJob) =>
  sql`tenant_id = ${tenantId} AND queue = ${queue} AND id = ${id} AND lease = ${lease}`;

/** False if the lease is lost: the job was deleted, or another process has it. */
export async function renewLease(tx: Queries, job: ClaimedJob, untilMs: number): Promise<boolean> {
  return hasRow(tx)`UPDATE jobs SET due_at = ${new Date(untilMs)} WHERE ${leased(job)}`;
}

/** Ends the lease; the job is due at `dueAtMs`, with this number of attempts. */
export async function releaseJob(
  tx: Queries,
  job: ClaimedJob,
  attempts: number,
  dueAtMs: number,
): Promise<void> {
  await execute(tx)`UPDATE jobs
    SET lease = NULL, attempts = ${attempts}, due_at = ${new Date(dueAtMs)} WHERE ${leased(job)}`;
}

export async function endJob(tx: Queries, job: ClaimedJob): Promise<void> {
  await execute(tx)`DELETE FROM jobs WHERE ${leased(job)}`;
}
