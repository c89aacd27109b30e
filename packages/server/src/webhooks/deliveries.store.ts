import type { TenantTx, WriterTx } from '../postgres/db.ts';
import { uuidArray } from '../postgres/pg-arrays.ts';
import { dateOrNull, execute, firstRow, rowsOf, sql } from '../postgres/sql.ts';

/** What is known of an attempt once it has ended. */
export interface AttemptFacts {
  atMs: number;
  durationMs: number;
  responseStatus: number | null;
  /** One line of at most 1 KiB of the answer. */
  response: string | null;
  reason: string | null;
}

/** One attempt and its outcome. Sequences are those of the first and last event in the message. */
export interface DeliveryRow extends AttemptFacts {
  tenantId: string;
  webhookId: string;
  id: string;
  messageId: string;
  type: string;
  status: 'delivered' | 'failed';
  /** From 1. */
  attempt: number;
  firstSequence: number | null;
  lastSequence: number | null;
  events: number;
  nextAttemptAtMs: number | null;
}

const columns = sql`tenant_id AS "tenantId", webhook_id AS "webhookId", id, message_id AS "messageId", type, status,
  attempt, first_sequence AS "firstSequence", last_sequence AS "lastSequence", events, at AS "atMs",
  duration_ms AS "durationMs", response_status AS "responseStatus", response, reason,
  next_attempt_at AS "nextAttemptAtMs"`;

const keptRowsMax = 1_000;
export const keptMs = 30 * 86_400_000;

/** The webhook must exist and be locked. Deletes all but the newest 1,000. */
export async function insertDelivery(tx: WriterTx, d: DeliveryRow): Promise<void> {
  const inserted = execute(tx)`
    INSERT INTO webhook_deliveries (tenant_id, webhook_id, id, message_id, type, status, attempt,
      first_sequence, last_sequence, events, at, duration_ms, response_status, response, reason,
      next_attempt_at)
    VALUES (${d.tenantId}, ${d.webhookId}, ${d.id}, ${d.messageId}, ${d.type}, ${d.status},
      ${d.attempt}, ${d.firstSequence}, ${d.lastSequence}, ${d.events}, ${new Date(d.atMs)},
      ${d.durationMs}, ${d.responseStatus}, ${d.response}, ${d.reason},
      ${dateOrNull(d.nextAttemptAtMs)})`;
  const trimmed = execute(tx)`
    DELETE FROM webhook_deliveries WHERE tenant_id = ${d.tenantId} AND webhook_id = ${d.webhookId}
      AND id <= (SELECT id FROM webhook_deliveries
        WHERE tenant_id = ${d.tenantId} AND webhook_id = ${d.webhookId}
        ORDER BY id DESC OFFSET ${keptRowsMax} LIMIT 1)`;
  await Promise.all([inserted, trimmed]); // they travel together
}

/** Newest first, from this id on. */
export async function listDeliveries(
  tx: TenantTx,
  webhookId: string,
  sinceMs: number,
  from: string,
  count: number,
): Promise<DeliveryRow[]> {
  return rowsOf<DeliveryRow>(tx)`SELECT ${columns} FROM webhook_deliveries
    WHERE tenant_id = ${tx.tenantId} AND webhook_id = ${webhookId} AND at > ${new Date(sinceMs)}
      AND id <= ${from} ORDER BY id DESC LIMIT ${count}`;
}

/** The newest one of a message, not of a test; null if there is none. */
export async function lastOfMessages(tx: TenantTx, webhookId: string): Promise<DeliveryRow | null> {
  return firstRow<DeliveryRow>(tx)`SELECT ${columns} FROM webhook_deliveries
    WHERE tenant_id = ${tx.tenantId} AND webhook_id = ${webhookId} AND type <> 'audit.webhook.test'
    ORDER BY id DESC LIMIT 1`;
}

export async function lastDeliveries(
  tx: TenantTx,
  webhookIds: readonly string[],
  sinceMs: number,
): Promise<Map<string, DeliveryRow>> {
  const rows = await rowsOf<DeliveryRow>(tx)`
    SELECT d.* FROM unnest(${uuidArray(webhookIds)}::uuid[]) AS wanted (w), LATERAL (
      SELECT ${columns} FROM webhook_deliveries
      WHERE tenant_id = ${tx.tenantId} AND webhook_id = w AND at > ${new Date(sinceMs)}
      ORDER BY id DESC LIMIT 1) d`;
  return new Map(rows.map((row) => [row.webhookId, row]));
}

/** Deletes expired ones, a limited number at once. Spans tenants. */
export async function forgetDeliveries(tx: WriterTx, beforeMs: number): Promise<void> {
  const rows = await rowsOf<{ atMs: number }>(tx)`SELECT at AS "atMs" FROM webhook_deliveries
    WHERE at <= ${new Date(beforeMs)} ORDER BY at OFFSET 9999 LIMIT 1`;
  await execute(tx)`DELETE FROM webhook_deliveries
    WHERE at <= ${new Date(rows[0]?.atMs ?? beforeMs)}`;
}
