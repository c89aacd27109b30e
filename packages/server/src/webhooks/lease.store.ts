import { candidatesMax, firstClaimed } from '../background/claim.store.ts';
import type { Queries, TenantTx } from '../postgres/db.ts';
import { dateOrNull, execute, firstRow, hasRow, rowsOf } from '../postgres/sql.ts';
import {
  type noMessage,
  type PendingMessage,
  type WebhookKey,
  type WebhookRow,
  webhookColumns,
} from './store.ts';

/*
 * Which process delivers to a webhook. Statements of the job: they span tenants; each change is
 * its own transaction, in one round trip.
 */

/** A webhook that only this process may deliver to, until the lease ends. */
export interface LeasedWebhook extends WebhookKey {
  lease: string;
}

/**
 * Claims the webhook with due messages that has waited longest, of any tenant except these. Nothing
 * is due for an offboarded tenant, or while recording is stopped: no attempt could be recorded.
 */
export async function claimWebhook(
  tx: Queries,
  lease: string,
  busyTenants: readonly string[],
  nowMs: number,
  untilMs: number,
): Promise<LeasedWebhook | null> {
  const now = new Date(nowMs);
  const due = rowsOf<WebhookKey>(tx)`
    SELECT w.tenant_id AS "tenantId", w.id FROM webhooks w
    JOIN log_heads h ON h.tenant_id = w.tenant_id
    WHERE w.status = 'active' AND w.due_at <= ${now} AND (w.lease IS NULL OR w.lease_until <= ${now})
      AND w.next_sequence < h.size AND h.closed_at IS NULL
      AND w.tenant_id <> ALL (${busyTenants}::uuid[])
    ORDER BY w.served_at, w.id LIMIT ${candidatesMax}`;
  const claim = ({ tenantId, id }: WebhookKey) => firstRow<LeasedWebhook>(tx)`
    UPDATE webhooks SET lease = ${lease}, lease_until = ${new Date(untilMs)}, served_at = ${now}
    WHERE tenant_id = ${tenantId} AND id = ${id} AND status = 'active' AND due_at <= ${now}
      AND (lease IS NULL OR lease_until <= ${now})
    RETURNING tenant_id AS "tenantId", id, lease`;
  return firstClaimed(tx, due, claim);
}

/** Where delivery stands: at the first entry of this message, or with none. */
type Place = Pick<WebhookRow, 'nextSequence'> & (PendingMessage | typeof noMessage);

/**
 * Stores where delivery goes on, before a message is sent, and extends the lease until `untilMs`.
 * Another position has all attempts. False if the lease is lost, or the webhook has changed: then
 * nothing may be sent.
 */
export async function moveTo(
  tx: Queries,
  { tenantId, id, lease }: LeasedWebhook,
  read: WebhookRow,
  { nextSequence, messageId, messageType, messageEnd, messageAtMs }: Place,
  untilMs: number,
): Promise<boolean> {
  return hasRow(tx)`UPDATE webhooks
    SET next_sequence = ${nextSequence}, message_id = ${messageId}, message_type = ${messageType},
      message_end = ${messageEnd}, message_at = ${dateOrNull(messageAtMs)},
      attempt = CASE WHEN ${nextSequence === read.nextSequence} THEN attempt ELSE 0 END,
      lease_until = ${new Date(untilMs)}
    WHERE tenant_id = ${tenantId} AND id = ${id} AND lease = ${lease}
      AND revision = ${read.revision} AND next_sequence = ${read.nextSequence} AND status = 'active'`;
}

export async function releaseWebhook(tx: Queries, leased: LeasedWebhook): Promise<void> {
  await execute(tx)`UPDATE webhooks SET lease = NULL, lease_until = NULL
    WHERE tenant_id = ${leased.tenantId} AND id = ${leased.id} AND lease = ${leased.lease}`;
}

/** The current webhook; null if the lease is lost, or it is paused. */
export async function getLeased(
  tx: TenantTx,
  { id, lease }: LeasedWebhook,
): Promise<WebhookRow | null> {
  return firstRow<WebhookRow>(tx)`SELECT ${webhookColumns} FROM webhooks
    WHERE tenant_id = ${tx.tenantId} AND id = ${id} AND lease = ${lease} AND status = 'active'`;
}

export interface WebhookCounts {
  /** No failure since the last delivery. */
  active: number;
  failing: number;
  paused: number;
  /** Log entries that active and failing webhooks have not reached. */
  behind: number;
}

export async function countStates(tx: Queries): Promise<WebhookCounts> {
  const row = await firstRow<WebhookCounts>(tx)`
    SELECT count(*) FILTER (WHERE status = 'active' AND attempt = 0) AS active,
      count(*) FILTER (WHERE status = 'active' AND attempt > 0) AS failing,
      count(*) FILTER (WHERE status = 'paused') AS paused,
      coalesce(sum(greatest(size - next_sequence, 0)) FILTER (WHERE status = 'active'),
        0)::int8 AS behind
    FROM webhooks JOIN log_heads USING (tenant_id)`;
  return row ?? { active: 0, failing: 0, paused: 0, behind: 0 };
}
