import type { MessageType, WebhookFormat } from '@indelible/protocol';
import type { TenantTx, WriterTx } from '../postgres/db.ts';
import { uuidArray } from '../postgres/pg-arrays.ts';
import { countOf, dateOrNull, execute, firstRow, rowsOf, sql } from '../postgres/sql.ts';

export const webhookIdPrefix = 'whk_';
export const messageIdPrefix = 'msg_';
export const deliveryIdPrefix = 'dlv_';

/** A due message; it begins at the webhook's `nextSequence`. */
export interface PendingMessage {
  messageId: string;
  messageType: MessageType;
  /** The sequence after its last one. */
  messageEnd: number;
  messageAtMs: number;
}

export const noMessage = {
  messageId: null,
  messageType: null,
  messageEnd: null,
  messageAtMs: null,
} as const satisfies Record<keyof PendingMessage, null>;

/** Where messages go, and how; `filters` and `options` are JSON texts. */
export interface WebhookSettings {
  name: string | null;
  url: string;
  format: WebhookFormat;
  types: MessageType[];
  filters: string;
  options: string;
}

export type WebhookKey = { tenantId: string; id: string };

/** A webhook without its lease. */
export type WebhookRow = WebhookKey &
  WebhookSettings &
  (PendingMessage | typeof noMessage) & {
    secret: Uint8Array;
    previousSecret: Uint8Array | null;
    previousSecretUntilMs: number | null;
    credential: Uint8Array | null;
    /** JSON text: base64 of each sealed value by name. */
    headers: string;
    status: 'active' | 'paused';
    pausedBecause: 'requested' | 'failing' | null;
    /** Increases when another message becomes due, or the call of the due one changes. */
    revision: number;
    nextSequence: number;
    /** The last export announced in a separate message; -1 for none. */
    announcedSequence: number;
    /** Failed attempts of the due message. */
    attempt: number;
    dueAtMs: number;
    createdAtMs: number;
    updatedAtMs: number;
  };

export const webhookColumns = sql`tenant_id AS "tenantId", id, name, url, format, types, filters, options, secret,
  previous_secret AS "previousSecret", previous_secret_until AS "previousSecretUntilMs", credential, headers, status,
  paused_because AS "pausedBecause", revision, next_sequence AS "nextSequence",
  announced_sequence AS "announcedSequence", message_id AS "messageId", message_type AS "messageType",
  message_end AS "messageEnd", message_at AS "messageAtMs", attempt, due_at AS "dueAtMs",
  created_at AS "createdAtMs", updated_at AS "updatedAtMs"`;

export type NewWebhook = WebhookKey &
  WebhookSettings &
  Pick<WebhookRow, 'secret' | 'credential' | 'headers' | 'createdAtMs'>;

/**
 * Starts at the current end of the log: after the record of its creation. Null for an offboarded
 * tenant.
 */
export async function insertWebhook(tx: WriterTx, w: NewWebhook): Promise<WebhookRow | null> {
  const createdAt = new Date(w.createdAtMs);
  return firstRow<WebhookRow>(tx)`
    INSERT INTO webhooks (tenant_id, id, name, url, format, types, filters, options, secret,
      credential, headers, next_sequence, due_at, served_at, created_at, updated_at)
    SELECT ${w.tenantId}, ${w.id}, ${w.name}, ${w.url}, ${w.format}, ${w.types}, ${w.filters},
      ${w.options}, ${w.secret}, ${w.credential}, ${w.headers}, size, ${createdAt}, ${createdAt},
      ${createdAt}, ${createdAt}
    FROM log_heads WHERE tenant_id = ${w.tenantId} AND closed_at IS NULL
    RETURNING ${webhookColumns}`;
}

export async function countWebhooks(tx: WriterTx, tenantId: string): Promise<number> {
  return countOf(tx)`SELECT count(*) AS count FROM webhooks
    WHERE tenant_id = ${tenantId}`;
}

/** The webhook, locked against other changes until the transaction ends, or null. */
export async function lockWebhook(tx: WriterTx, key: WebhookKey): Promise<WebhookRow | null> {
  return firstRow<WebhookRow>(tx)`SELECT ${webhookColumns} FROM webhooks
    WHERE tenant_id = ${key.tenantId} AND id = ${key.id} FOR UPDATE`;
}

/** Stores everything of a locked webhook that may change. */
export async function saveWebhook(tx: WriterTx, w: WebhookRow): Promise<void> {
  await execute(tx)`UPDATE webhooks
    SET name = ${w.name}, url = ${w.url}, format = ${w.format}, types = ${w.types},
      filters = ${w.filters}, options = ${w.options}, secret = ${w.secret},
      previous_secret = ${w.previousSecret},
      previous_secret_until = ${dateOrNull(w.previousSecretUntilMs)}, credential = ${w.credential},
      status = ${w.status}, paused_because = ${w.pausedBecause}, revision = ${w.revision},
      next_sequence = ${w.nextSequence}, announced_sequence = ${w.announcedSequence},
      message_id = ${w.messageId}, message_type = ${w.messageType}, message_end = ${w.messageEnd},
      message_at = ${dateOrNull(w.messageAtMs)}, attempt = ${w.attempt}, due_at = ${dateOrNull(w.dueAtMs)},
      updated_at = ${dateOrNull(w.updatedAtMs)}, headers = ${w.headers}
    WHERE tenant_id = ${w.tenantId} AND id = ${w.id}`;
}

/** Including its deliveries. */
export async function deleteWebhook(tx: WriterTx, key: WebhookKey): Promise<void> {
  await execute(tx)`DELETE FROM webhooks WHERE tenant_id = ${key.tenantId} AND id = ${key.id}`;
}

export async function getWebhook(tx: TenantTx, id: string): Promise<WebhookRow | null> {
  return firstRow<WebhookRow>(tx)`SELECT ${webhookColumns} FROM webhooks
    WHERE tenant_id = ${tx.tenantId} AND id = ${id}`;
}

/** The tenant's webhooks with one of these ids that are sent messages about alerts. */
export async function webhooksTakingAlerts(
  tx: WriterTx,
  tenantId: string,
  ids: readonly string[],
): Promise<string[]> {
  const rows = await rowsOf<{ id: string }>(tx)`SELECT id FROM webhooks
    WHERE tenant_id = ${tenantId} AND 'audit.alert.raised' = ANY (types)
      AND id = ANY (${uuidArray(ids)})`;
  return rows.map(({ id }) => id);
}

/** Newest first, from this id on. */
export async function listWebhooks(
  tx: TenantTx,
  from: string,
  count: number,
): Promise<WebhookRow[]> {
  return rowsOf<WebhookRow>(tx)`SELECT ${webhookColumns} FROM webhooks
    WHERE tenant_id = ${tx.tenantId} AND id <= ${from} ORDER BY id DESC LIMIT ${count}`;
}
