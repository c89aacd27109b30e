import { candidatesMax, firstClaimed } from '../background/claim.store.ts';
import type { Leased } from '../background/leased-worker.ts';
import type { Queries, TenantTx, WriterTx } from '../postgres/db.ts';
import { execute, firstRow, hasRow, rowsOf, sql } from '../postgres/sql.ts';

/*
 * Which process evaluates the rules of a tenant, and how far. Statements of the job: they span
 * tenants.
 */

export interface AlertCursor {
  nextSequence: number;
  lateSkipped: number;
}

/** A time further ahead, of a silence after its window, comes from a wrong clock: it is due. */
const aheadMsMax = 600_000;

/**
 * Claims the tenant with events to evaluate, or a due silence or message, that has waited longest.
 * Nothing is due for an offboarded tenant, or while recording is stopped: no alert could be
 * recorded.
 */
export async function claimCursor(
  tx: Queries,
  lease: string,
  nowMs: number,
  untilMs: number,
): Promise<Leased | null> {
  const [now, ahead] = [new Date(nowMs), new Date(nowMs + aheadMsMax)];
  const due = rowsOf<{ tenantId: string }>(tx)`
    SELECT c.tenant_id AS "tenantId" FROM alert_cursors c
      JOIN log_heads h ON h.tenant_id = c.tenant_id
    WHERE (c.lease IS NULL OR c.lease_until <= ${now}) AND h.closed_at IS NULL
      AND (c.next_sequence < h.size OR EXISTS (SELECT 1 FROM alert_rules r
        WHERE r.tenant_id = c.tenant_id
          AND (r.silent_at <= ${now} OR r.tell_at <= ${now} OR r.tell_at > ${ahead}
            OR r.silent_at > ${ahead}::timestamptz
              + make_interval(mins => (r.settings->>'windowMinutes')::int))))
    ORDER BY c.served_at, c.tenant_id LIMIT ${candidatesMax}`;
  const claim = ({ tenantId }: { tenantId: string }) => firstRow<Leased>(tx)`
    UPDATE alert_cursors SET lease = ${lease}, lease_until = ${new Date(untilMs)}, served_at = ${now}
    WHERE tenant_id = ${tenantId} AND (lease IS NULL OR lease_until <= ${now})
    RETURNING tenant_id AS "tenantId", lease`;
  return firstClaimed(tx, due, claim);
}

export async function releaseCursor(tx: Queries, { tenantId, lease }: Leased): Promise<void> {
  await execute(tx)`UPDATE alert_cursors SET lease = NULL, lease_until = NULL
    WHERE tenant_id = ${tenantId} AND lease = ${lease}`;
}

/**
 * Moves the cursor from `from` to `to`, and extends the lease. False if another process has moved
 * it or has the lease: then nothing of this evaluation may be stored.
 */
export async function moveCursor(
  tx: Queries,
  { tenantId, lease }: Leased,
  from: number,
  to: number,
  late: number,
  untilMs: number,
): Promise<boolean> {
  return hasRow(tx)`UPDATE alert_cursors
    SET next_sequence = ${to}, late_skipped = late_skipped + ${late},
      lease_until = ${new Date(untilMs)}
    WHERE tenant_id = ${tenantId} AND lease = ${lease} AND next_sequence = ${from}`;
}

/** Null if the tenant has no enabled rule, or another lease than this one. */
export async function getCursor(tx: TenantTx, lease?: string): Promise<AlertCursor | null> {
  const ofLease = lease === undefined ? sql`` : sql`AND lease = ${lease}`;
  return firstRow<AlertCursor>(tx)`
    SELECT next_sequence AS "nextSequence", late_skipped AS "lateSkipped" FROM alert_cursors
    WHERE tenant_id = ${tx.tenantId} ${ofLease}`;
}

/** Log entries of all tenants that their rules have not evaluated yet. */
export async function countBehind(tx: Queries): Promise<number> {
  const row = await firstRow<{ behind: number }>(tx)`
    SELECT coalesce(sum(greatest(size - next_sequence, 0)), 0)::int8 AS behind FROM alert_cursors
    JOIN log_heads USING (tenant_id)`;
  return row?.behind ?? 0;
}

/** Evaluation begins at the present end of the log, unless it runs already. */
export async function openCursor(tx: WriterTx, tenantId: string, nowMs: number): Promise<void> {
  await execute(tx)`INSERT INTO alert_cursors (tenant_id, next_sequence, served_at)
    SELECT ${tenantId}, size, ${new Date(nowMs)} FROM log_heads WHERE tenant_id = ${tenantId}
    ON CONFLICT DO NOTHING`;
}

/** Without an enabled rule no event needs to be read. */
export async function closeCursor(tx: WriterTx, tenantId: string): Promise<void> {
  await execute(tx)`DELETE FROM alert_cursors WHERE tenant_id = ${tenantId}`;
}
