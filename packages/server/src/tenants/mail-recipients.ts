import { emailKey } from '@indelible/protocol';
import { hashSecretToken, newSecretToken } from '../crypto/secret-token.ts';
import { composeMail, mailTexts } from '../outbound/mail-page.ts';
import { quoted } from '../outbound/plain-line.ts';
import type { Parts } from '../parts.ts';
import { readTenant, type TenantTx, tenantIn, type WriterTx, write } from '../postgres/db.ts';
import {
  countMails,
  forgetRecipients,
  listRecipients,
  lockRecipients,
  type RecipientRow,
  saveAsked,
  saveToken,
} from './mail-recipients.store.ts';
import { getTenant, type TenantRow } from './store.ts';

/*
 * Who may get mail of a tenant. The platform sets `notifyEmails`, so they are trusted. Any other
 * address confirms once, by the link of a mail of fixed text: else a tenant could have the service
 * write to strangers.
 */

const dayMs = 86_400_000;
/** So long a confirmation link works, and its address is not asked again. */
export const linkMs = 7 * dayMs;
const asksPerDayMax = 20;
/** Messages of a tenant in a day (UTC), one for each recipient. */
export const mailsPerDayMax = 500;

const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);

type Trusting = Pick<TenantRow, 'notifyEmails'>;

/** The addresses that have to confirm before they get mail. */
export function unconfirmedOf(
  { notifyEmails }: Trusting,
  rows: readonly RecipientRow[],
  emails: readonly string[],
): string[] {
  const confirmed = rows.flatMap((row) => (row.confirmedAtMs === null ? [] : [row.email]));
  const known = new Set([...notifyEmails.map(emailKey), ...confirmed]);
  return emails.filter((email) => !known.has(emailKey(email)));
}

/** The unconfirmed addresses of the tenant of this transaction. */
export async function unconfirmedIn(tx: TenantTx) {
  const [tenant, rows] = [await getTenant(tx), await listRecipients(tx)];
  return (emails: readonly string[]) => unconfirmedOf(tenant ?? { notifyEmails: [] }, rows, emails);
}

/** The addresses that may get a message now: none if the tenant's mails of the day are used up. */
export function mailableOf(
  tenant: Trusting,
  rows: readonly RecipientRow[],
  emails: readonly string[],
  nowMs: number,
): string[] {
  const today = rows.filter(({ mailsOn }) => mailsOn === dayOf(nowMs));
  const room = mailsPerDayMax - today.reduce((sum, { mails }) => sum + mails, 0);
  const unconfirmed = unconfirmedOf(tenant, rows, emails);
  return emails.filter((email) => !unconfirmed.includes(email)).slice(0, Math.max(0, room));
}

/** After sending: a message that the mail server refused does not count. */
export function countSent(
  { db, now }: Parts,
  tenantId: string,
  emails: readonly string[],
): Promise<void> {
  const keys = [...new Set(emails.map(emailKey))];
  return write(db, (tx) => countMails(tx, tenantId, keys, dayOf(now())));
}

/**
 * Queues a confirmation mail to each address that needs one: at most one a week an address, and 20
 * a day a tenant. The others are asked when the next message would go to them.
 */
export async function askToConfirm(
  { jobs, now }: Pick<Parts, 'jobs' | 'now'>,
  tx: WriterTx,
  tenantId: string,
  emails: readonly string[],
): Promise<void> {
  if (emails.length === 0) return;
  await lockRecipients(tx, tenantId);
  const nowMs = now();
  await forgetRecipients(tx, tenantId, nowMs - 30 * dayMs);
  const inTenant = tenantIn(tx, tenantId);
  const rows = await listRecipients(inTenant);
  const unconfirmed = (await unconfirmedIn(inTenant))(emails);
  const due = asksDue(rows, unconfirmed.map(emailKey), nowMs);
  if (due.length === 0) return;
  await saveAsked(tx, tenantId, due, nowMs);
  for (const email of due) {
    await jobs.send(tx, 'confirm-mail', { tenantId, data: { tenantId, email } });
  }
}

function asksDue(rows: readonly RecipientRow[], emails: readonly string[], nowMs: number) {
  const asked = (ms: number) => rows.filter(({ askedAtMs }) => (askedAtMs ?? 0) > nowMs - ms);
  const pending = new Set(asked(linkMs).map(({ email }) => email));
  const due = new Set(emails.filter((email) => !pending.has(email)));
  return [...due].slice(0, Math.max(0, asksPerDayMax - asked(dayMs).length));
}

/** The work of a job `confirm-mail`. The token is in no job: each attempt makes one. */
interface ConfirmMailJob {
  tenantId: string;
  email: string;
}

export function handleConfirmMail({ db, jobs, mailer, publicUrl }: Parts): void {
  jobs.handle<ConfirmMailJob>('confirm-mail', async ({ id, data: { tenantId, email } }) => {
    const tenant = await readTenant(db, tenantId, getTenant);
    if (!tenant || tenant.closedAtMs) return;
    const token = newSecretToken();
    const hash = hashSecretToken(token);
    if (!(await write(db, (tx) => saveToken(tx, tenantId, email, hash)))) return;
    const url = `${publicUrl()}/confirm-mail/${tenantId}/${token}`;
    await mailer.send({ id, to: email, ...confirmationMail(tenant, url) });
  });
}

/** Fixed sentences: of what a tenant chose it has the tenant's name alone, without links. */
function confirmationMail({ name, locale }: Pick<TenantRow, 'name' | 'locale'>, url: string) {
  const { subject, lead, next, open } = mailTexts[locale].confirm;
  return composeMail({
    locale,
    subject,
    tenantName: quoted(name),
    leads: (about) => [lead(about)],
    facts: [],
    next: [next],
    open,
    url,
  });
}
