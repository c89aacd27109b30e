import { candidatesMax, firstClaimed } from '../background/index.ts';
import { firstRow, type TenantTx, type WriterTx } from '../postgres/index.ts';
import { type PendingMessage, type WebhookKey, type WebhookRow, webhookColumns } from './store.ts';

/*
 * Which process delivers to a webhook. Statements of the job: they span tenants; each change is
 * its own transaction, in one round trip.
 */

type Alone = Pick<WriterTx, 'query'>;

/** A webhook that only this process may deliver to, until the lease ends. */
export interface LeasedWebhook extends WebhookKey {
  lease: string;
}

/**
 * Claims the webhook with due messages that has waited longest, of any tenant except these.
 * Nothing is due while recording is stopped, because no attempt could be recorded, nor for an
 * offboarded tenant.
 */
export async function claimWebhook(
  tx: Alone,
  lease: string,
  busyTenants: readonly string[],
  nowMs: number,
  untilMs: number,
): Promise<LeasedWebhook | null> {
  const due = tx.query<WebhookKey>({
    name: 'due-webhooks',
    text: `SELECT w.tenant_id AS "tenantId", w.id FROM webhooks w
        JOIN log_heads h ON h.tenant_id = w.tenant_id
      WHERE w.status = 'active' AND w.due_at <= $2 AND (w.lease IS NULL OR w.lease_until <= $2)
        AND w.next_sequence < h.size AND h.closed_at IS NULL AND w.tenant_id <> ALL ($1::uuid[])
      ORDER BY w.served_at, w.id LIMIT ${candidatesMax}`,
    values: [busyTenants, new Date(nowMs)],
  });
  return firstClaimed(tx, due, ({ tenantId, id }) => ({
    name: 'claim-webhook',
    text: `UPDATE webhooks SET lease = $3, lease_until = $5, served_at = $4
      WHERE tenant_id = $1 AND id = $2 AND status = 'active' AND due_at <= $4
        AND (lease IS NULL OR lease_until <= $4)
      RETURNING tenant_id AS "tenantId", id, lease`,
    values: [tenantId, id, lease, new Date(nowMs), new Date(untilMs)],
  }));
}

/**
 * Stores the message before it is sent, and extends the lease until `untilMs`. False if the lease
 * is lost, or the webhook has changed: then nothing may be sent.
 */
export async function holdMessage(
  tx: Alone,
  { tenantId, id, lease }: LeasedWebhook,
  read: WebhookRow,
  message: PendingMessage,
  untilMs: number,
): Promise<boolean> {
  const { rowCount } = await tx.query({
    name: 'hold-message',
    text: `UPDATE webhooks SET message_id = $6, message_type = $7, message_end = $8, message_at = $9,
        lease_until = $10
      WHERE tenant_id = $1 AND id = $2 AND lease = $3 AND revision = $4 AND next_sequence = $5
        AND status = 'active'`,
    values: [
      ...[tenantId, id, lease, read.revision, read.nextSequence],
      ...[message.messageId, message.messageType, message.messageEnd],
      ...[new Date(message.messageAtMs), new Date(untilMs)],
    ],
  });
  return rowCount === 1;
}

/** Skips entries that are not for this webhook. False as above. */
export async function passOver(
  tx: Alone,
  { tenantId, id, lease }: LeasedWebhook,
  read: WebhookRow,
  nextSequence: number,
  untilMs: number,
): Promise<boolean> {
  const { rowCount } = await tx.query({
    name: 'pass-over',
    text: `UPDATE webhooks SET next_sequence = $6, lease_until = $7, message_id = NULL, message_type = NULL,
        message_end = NULL, message_at = NULL, attempt = 0
      WHERE tenant_id = $1 AND id = $2 AND lease = $3 AND revision = $4 AND next_sequence = $5`,
    values: [
      ...[tenantId, id, lease, read.revision, read.nextSequence],
      ...[nextSequence, new Date(untilMs)],
    ],
  });
  return rowCount === 1;
}

/** Releases the webhook at once. */
export async function releaseWebhook(tx: Alone, leased: LeasedWebhook): Promise<void> {
  await tx.query({
    name: 'release-webhook',
    text: `UPDATE webhooks SET lease = NULL, lease_until = NULL
      WHERE tenant_id = $1 AND id = $2 AND lease = $3`,
    values: [leased.tenantId, leased.id, leased.lease],
  });
}

/** The current webhook; null if the lease is lost, or it is paused. */
export async function getLeased(
  tx: TenantTx,
  { id, lease }: LeasedWebhook,
): Promise<WebhookRow | null> {
  return firstRow<WebhookRow>(tx, {
    name: 'get-leased-webhook',
    text: `SELECT ${webhookColumns} FROM webhooks
      WHERE tenant_id = $1 AND id = $2 AND lease = $3 AND status = 'active'`,
    values: [tx.tenantId, id, lease],
  });
}

/** The state of all webhooks together. */
export interface WebhookCounts {
  /** No failure since the last delivery. */
  active: number;
  failing: number;
  paused: number;
  /** Log entries that active and failing webhooks have not reached. */
  behind: number;
}

export async function countStates(tx: Alone): Promise<WebhookCounts> {
  const { rows } = await tx.query<WebhookCounts>({
    name: 'count-webhook-states',
    text: `SELECT count(*) FILTER (WHERE status = 'active' AND attempt = 0) AS active,
        count(*) FILTER (WHERE status = 'active' AND attempt > 0) AS failing,
        count(*) FILTER (WHERE status = 'paused') AS paused,
        coalesce(sum(greatest(size - next_sequence, 0)) FILTER (WHERE status = 'active'), 0)::int8 AS behind
      FROM webhooks JOIN log_heads USING (tenant_id)`,
  });
  return rows[0] ?? { active: 0, failing: 0, paused: 0, behind: 0 };
}
