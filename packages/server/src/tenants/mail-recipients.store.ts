import type { TenantTx, WriterTx } from '../postgres/db.ts';
import { textArray } from '../postgres/pg-arrays.ts';
import { execute, firstRow, rowsOf } from '../postgres/sql.ts';

/** An address that the tenant named for its mail, or that got mail; `email` is in lower case. */
export interface RecipientRow {
  email: string;
  askedAtMs: number | null;
  confirmedAtMs: number | null;
  /** The day (UTC, `2026-11-28`) on which it got `mails` messages. */
  mailsOn: string | null;
  mails: number;
}

export async function listRecipients(tx: TenantTx): Promise<RecipientRow[]> {
  return rowsOf<RecipientRow>(tx)`SELECT email, asked_at AS "askedAtMs",
    confirmed_at AS "confirmedAtMs", mails_on::text AS "mailsOn", mails
    FROM mail_recipients WHERE tenant_id = ${tx.tenantId}`;
}

/**
 * Two transactions of a tenant ask for confirmations one after the other. Taken after the lock of
 * the log's head.
 */
export async function lockRecipients(tx: WriterTx, tenantId: string): Promise<void> {
  await execute(tx)`SELECT pg_advisory_xact_lock(hashtext('indelible.mail' || ${tenantId}::text))`;
}

/** Notes a confirmation mail for each address; the link of the last one stops working. */
export async function saveAsked(
  tx: WriterTx,
  tenantId: string,
  emails: readonly string[],
  nowMs: number,
): Promise<void> {
  await execute(tx)`INSERT INTO mail_recipients (tenant_id, email, asked_at)
    SELECT ${tenantId}, email, ${new Date(nowMs)} FROM unnest(${textArray(emails)}::text[]) AS e (email)
    ON CONFLICT (tenant_id, email)
    DO UPDATE SET asked_at = excluded.asked_at, token_hash = NULL`;
}

/** False if the address has confirmed meanwhile, or was erased. */
export async function saveToken(
  tx: WriterTx,
  tenantId: string,
  email: string,
  tokenHash: Uint8Array,
): Promise<boolean> {
  const count = await execute(tx)`UPDATE mail_recipients SET token_hash = ${tokenHash}
    WHERE tenant_id = ${tenantId} AND email = ${email} AND confirmed_at IS NULL`;
  return count > 0;
}

/** The address that was asked by this link after `sinceMs` and has not confirmed yet, or null. */
export async function findAsked(
  tx: TenantTx,
  tokenHash: Uint8Array,
  sinceMs: number,
): Promise<string | null> {
  const row = await firstRow<{ email: string }>(tx)`SELECT email FROM mail_recipients
    WHERE tenant_id = ${tx.tenantId} AND token_hash = ${tokenHash}
      AND asked_at > ${new Date(sinceMs)}`;
  return row?.email ?? null;
}

/** Uses the link up. The address that confirmed; null if the link is unknown, used or expired. */
export async function confirmRecipient(
  tx: WriterTx,
  tenantId: string,
  tokenHash: Uint8Array,
  sinceMs: number,
  nowMs: number,
): Promise<string | null> {
  const row = await firstRow<{ email: string }>(tx)`UPDATE mail_recipients
    SET confirmed_at = ${new Date(nowMs)}, token_hash = NULL
    WHERE tenant_id = ${tenantId} AND token_hash = ${tokenHash}
      AND asked_at > ${new Date(sinceMs)} RETURNING email`;
  return row?.email ?? null;
}

/** Counts a message to each address on this day. */
export async function countMails(
  tx: WriterTx,
  tenantId: string,
  emails: readonly string[],
  day: string,
): Promise<void> {
  await execute(tx)`INSERT INTO mail_recipients (tenant_id, email, mails_on, mails)
    SELECT ${tenantId}, email, ${day}::date, 1 FROM unnest(${textArray(emails)}::text[]) AS e (email)
    ON CONFLICT (tenant_id, email) DO UPDATE SET mails_on = excluded.mails_on,
      mails = CASE WHEN mail_recipients.mails_on = excluded.mails_on
        THEN mail_recipients.mails + 1 ELSE 1 END`;
}

/** Forgets addresses that did not confirm, and counts of others, when both are older. */
export async function forgetRecipients(
  tx: WriterTx,
  tenantId: string,
  beforeMs: number,
): Promise<void> {
  const before = new Date(beforeMs);
  await execute(tx)`DELETE FROM mail_recipients WHERE tenant_id = ${tenantId}
    AND confirmed_at IS NULL AND coalesce(asked_at, 'epoch') < ${before}
    AND coalesce(mails_on, 'epoch') < ${before}`;
}
