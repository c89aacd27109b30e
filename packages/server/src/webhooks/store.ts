import type { MessageType, WebhookFormat } from '@indelible/protocol';
import { firstRow, type TenantTx, uuidArray, type WriterTx } from '../postgres/index.ts';

/** A due message; it begins at the webhook's `nextSequence`. */
export interface PendingMessage {
  messageId: string;
  messageType: MessageType;
  /** The sequence after its last one. */
  messageEnd: number;
  messageAtMs: number;
}

export type NoMessage = { [Key in keyof PendingMessage]: null };
export const noMessage: NoMessage = {
  messageId: null,
  messageType: null,
  messageEnd: null,
  messageAtMs: null,
};

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
  (PendingMessage | NoMessage) & {
    secret: Uint8Array;
    previousSecret: Uint8Array | null;
    previousSecretUntilMs: number | null;
    credential: Uint8Array | null;
    /** JSON text: base64 of each sealed value by name. */
    headers: string;
    status: 'active' | 'paused';
    pausedBecause: 'requested' | 'failing' | null;
    /** Increases with every change of which messages exist, or of their content. */
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

export const webhookColumns = `tenant_id AS "tenantId", id, name, url, format, types, filters, options, secret,
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
  return firstRow<WebhookRow>(tx, {
    name: 'insert-webhook',
    text: `INSERT INTO webhooks (tenant_id, id, name, url, format, types, filters, options, secret, credential,
        headers, next_sequence, due_at, served_at, created_at, updated_at)
      SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, size, $12, $12, $12, $12 FROM log_heads
        WHERE tenant_id = $1 AND closed_at IS NULL
      RETURNING ${webhookColumns}`,
    values: [
      ...[w.tenantId, w.id, w.name, w.url, w.format, w.types, w.filters, w.options],
      ...[w.secret, w.credential, w.headers, new Date(w.createdAtMs)],
    ],
  });
}

export async function countWebhooks(tx: WriterTx, tenantId: string): Promise<number> {
  const { rows } = await tx.query<{ count: number }>({
    name: 'count-webhooks',
    text: 'SELECT count(*) AS count FROM webhooks WHERE tenant_id = $1',
    values: [tenantId],
  });
  return rows[0]?.count ?? 0;
}

/** The webhook, locked against other changes until the transaction ends, or null. */
export async function lockWebhook(tx: WriterTx, key: WebhookKey): Promise<WebhookRow | null> {
  return firstRow<WebhookRow>(tx, {
    name: 'lock-webhook',
    text: `SELECT ${webhookColumns} FROM webhooks WHERE tenant_id = $1 AND id = $2 FOR UPDATE`,
    values: [key.tenantId, key.id],
  });
}

/** Stores everything of a locked webhook that may change. */
export async function saveWebhook(tx: WriterTx, w: WebhookRow): Promise<void> {
  await tx.query({
    name: 'save-webhook',
    text: `UPDATE webhooks SET name = $3, url = $4, format = $5, types = $6, filters = $7, options = $8,
        secret = $9, previous_secret = $10, previous_secret_until = $11, credential = $12, status = $13,
        paused_because = $14, revision = $15, next_sequence = $16, announced_sequence = $17, message_id = $18,
        message_type = $19, message_end = $20, message_at = $21, attempt = $22, due_at = $23, updated_at = $24,
        headers = $25
      WHERE tenant_id = $1 AND id = $2`,
    values: [
      ...[w.tenantId, w.id, w.name, w.url, w.format, w.types, w.filters, w.options],
      ...[w.secret, w.previousSecret, time(w.previousSecretUntilMs), w.credential, w.status],
      ...[w.pausedBecause, w.revision, w.nextSequence, w.announcedSequence],
      ...[w.messageId, w.messageType, w.messageEnd, time(w.messageAtMs)],
      ...[w.attempt, time(w.dueAtMs), time(w.updatedAtMs), w.headers],
    ],
  });
}

const time = (ms: number | null) => (ms === null ? null : new Date(ms));

/** Including its deliveries. */
export async function deleteWebhook(tx: WriterTx, key: WebhookKey): Promise<void> {
  await tx.query({
    name: 'delete-webhook',
    text: 'DELETE FROM webhooks WHERE tenant_id = $1 AND id = $2',
    values: [key.tenantId, key.id],
  });
}

export async function getWebhook(tx: TenantTx, id: string): Promise<WebhookRow | null> {
  return firstRow<WebhookRow>(tx, {
    name: 'get-webhook',
    text: `SELECT ${webhookColumns} FROM webhooks WHERE tenant_id = $1 AND id = $2`,
    values: [tx.tenantId, id],
  });
}

/** Those of the tenant that have one of these ids and are sent messages of this type. */
export async function webhooksTaking(
  tx: WriterTx,
  tenantId: string,
  type: MessageType,
  ids: readonly string[],
): Promise<string[]> {
  const { rows } = await tx.query<{ id: string }>({
    name: 'webhooks-taking',
    text: 'SELECT id FROM webhooks WHERE tenant_id = $1 AND $2 = ANY (types) AND id = ANY ($3)',
    values: [tenantId, type, uuidArray(ids)],
  });
  return rows.map(({ id }) => id);
}

/** Newest first, from this id on. */
export async function listWebhooks(
  tx: TenantTx,
  from: string,
  count: number,
): Promise<WebhookRow[]> {
  const { rows } = await tx.query<WebhookRow>({
    name: 'list-webhooks',
    text: `SELECT ${webhookColumns} FROM webhooks
      WHERE tenant_id = $1 AND id <= $2 ORDER BY id DESC LIMIT $3`,
    values: [tx.tenantId, from, count],
  });
  return rows;
}
