import { candidatesMax, firstClaimed } from '../background/index.ts';
import { firstRow, type TenantTx, type WriterTx } from '../postgres/index.ts';

/*
 * Which process evaluates the rules of a tenant, and how far. Statements of the job: they span
 * tenants.
 */

type Alone = Pick<WriterTx, 'query'>;

/** A tenant whose rules only this process may evaluate, until the lease ends. */
export interface LeasedCursor {
  tenantId: string;
  lease: string;
}

export interface AlertCursor {
  nextSequence: number;
  lateSkipped: number;
}

/** No message is due later than this, no silence later than this after its window. */
const aheadMsMax = 600_000;

/**
 * Claims the tenant with events to evaluate, or a due silence or message, that has waited longest.
 * Nothing is due while recording is stopped, because no alert could be recorded, nor for an
 * offboarded tenant.
 */
export async function claimCursor(
  tx: Alone,
  lease: string,
  nowMs: number,
  untilMs: number,
): Promise<LeasedCursor | null> {
  const due = tx.query<{ tenantId: string }>({
    name: 'due-alert-cursors',
    text: `SELECT c.tenant_id AS "tenantId" FROM alert_cursors c
        JOIN log_heads h ON h.tenant_id = c.tenant_id
      WHERE (c.lease IS NULL OR c.lease_until <= $1) AND h.closed_at IS NULL
        AND (c.next_sequence < h.size OR EXISTS (SELECT 1 FROM alert_rules r WHERE r.tenant_id = c.tenant_id
          AND (r.silent_at <= $1 OR r.tell_at <= $1 OR r.tell_at > $2 OR r.silent_at > $2
            + make_interval(mins => (r.settings->>'windowMinutes')::int))))
      ORDER BY c.served_at, c.tenant_id LIMIT ${candidatesMax}`,
    values: [new Date(nowMs), new Date(nowMs + aheadMsMax)],
  });
  return firstClaimed(tx, due, ({ tenantId }) => ({
    name: 'claim-alert-cursor',
    text: `UPDATE alert_cursors SET lease = $2, lease_until = $4, served_at = $3
      WHERE tenant_id = $1 AND (lease IS NULL OR lease_until <= $3)
      RETURNING tenant_id AS "tenantId", lease`,
    values: [tenantId, lease, new Date(nowMs), new Date(untilMs)],
  }));
}

export async function releaseCursor(tx: Alone, { tenantId, lease }: LeasedCursor): Promise<void> {
  await tx.query({
    name: 'release-alert-cursor',
    text: `UPDATE alert_cursors SET lease = NULL, lease_until = NULL
      WHERE tenant_id = $1 AND lease = $2`,
    values: [tenantId, lease],
  });
}

/**
 * Moves the cursor from `from` to `to`, and extends the lease. False if another process has moved
 * it or has the lease: then nothing of this evaluation may be stored.
 */
export async function moveCursor(
  tx: Alone,
  { tenantId, lease }: LeasedCursor,
  from: number,
  to: number,
  late: number,
  untilMs: number,
): Promise<boolean> {
  const { rowCount } = await tx.query({
    name: 'move-alert-cursor',
    text: `UPDATE alert_cursors SET next_sequence = $4, late_skipped = late_skipped + $5, lease_until = $6
      WHERE tenant_id = $1 AND lease = $2 AND next_sequence = $3`,
    values: [tenantId, lease, from, to, late, new Date(untilMs)],
  });
  return rowCount === 1;
}

/** The cursor of this lease; null if it is lost. */
export async function leasedCursor(
  tx: TenantTx,
  { lease }: LeasedCursor,
): Promise<AlertCursor | null> {
  return firstRow<AlertCursor>(tx, {
    name: 'leased-alert-cursor',
    text: `SELECT next_sequence AS "nextSequence", late_skipped AS "lateSkipped" FROM alert_cursors
      WHERE tenant_id = $1 AND lease = $2`,
    values: [tx.tenantId, lease],
  });
}

/** Null if the tenant has no enabled rule. */
export async function getCursor(tx: TenantTx): Promise<AlertCursor | null> {
  return firstRow<AlertCursor>(tx, {
    name: 'get-alert-cursor',
    text: `SELECT next_sequence AS "nextSequence", late_skipped AS "lateSkipped" FROM alert_cursors
      WHERE tenant_id = $1`,
    values: [tx.tenantId],
  });
}

/** Log entries of all tenants that their rules have not evaluated yet. */
export async function countBehind(tx: Alone): Promise<number> {
  const { rows } = await tx.query<{ behind: number }>({
    name: 'count-alerts-behind',
    text: `SELECT coalesce(sum(greatest(size - next_sequence, 0)), 0)::int8 AS behind
      FROM alert_cursors JOIN log_heads USING (tenant_id)`,
  });
  return rows[0]?.behind ?? 0;
}

/** Evaluation begins at the present end of the log, unless it runs already. */
export async function openCursor(tx: WriterTx, tenantId: string, nowMs: number): Promise<void> {
  await tx.query({
    name: 'open-alert-cursor',
    text: `INSERT INTO alert_cursors (tenant_id, next_sequence, served_at)
      SELECT $1, size, $2 FROM log_heads WHERE tenant_id = $1 ON CONFLICT DO NOTHING`,
    values: [tenantId, new Date(nowMs)],
  });
}

/** Without an enabled rule no event needs to be read. */
export async function closeCursor(tx: WriterTx, tenantId: string): Promise<void> {
  await tx.query({
    name: 'close-alert-cursor',
    text: 'DELETE FROM alert_cursors WHERE tenant_id = $1',
    values: [tenantId],
  });
}
