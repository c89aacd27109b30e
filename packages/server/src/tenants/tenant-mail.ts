import type { QueueName } from '../background/jobs.ts';
import type { Mail } from '../outbound/mail-page.ts';
import type { Parts } from '../parts.ts';
import { readTenant, type TenantTx, write } from '../postgres/db.ts';
import { listRecipients } from './mail-recipients.store.ts';
import { askToConfirm, countSent, mailableOf } from './mail-recipients.ts';
import { getTenant, type TenantRow } from './store.ts';

interface TenantMail extends Mail {
  to: readonly string[];
  /** A notice of the platform: it goes to these addresses whatever the tenant did before. */
  isNotice?: true;
}

/**
 * Mail to tenants in jobs of their own: an unavailable mail server stops nothing else. Addresses
 * that must confirm first are asked, and get no mail. `compose` resolves to null if there is
 * nothing to tell any more.
 */
export function handleTenantMail<Data extends { tenantId: string }>(
  parts: Parts,
  queue: QueueName,
  compose: (tenant: TenantRow, data: Data, tx: TenantTx) => Promise<TenantMail | null>,
): void {
  const { db, jobs, mailer, now } = parts;
  jobs.handle<Data>(queue, async ({ id, data }) => {
    const { tenantId } = data;
    const found = await readTenant(db, tenantId, async (tx) => {
      const tenant = await getTenant(tx);
      const mail = tenant && (await compose(tenant, data, tx));
      if (!tenant || !mail) return null;
      const { isNotice, ...message } = mail;
      if (isNotice) return { message, to: mail.to, isNotice };
      const to = mailableOf(tenant, await listRecipients(tx), mail.to, now());
      return { message, to, isNotice: false };
    });
    if (found === null) return;
    const { message, to, isNotice } = found;
    if (!isNotice) {
      const left = message.to.filter((email) => !to.includes(email));
      await write(db, (tx) => askToConfirm(parts, tx, tenantId, left));
    }
    if (to.length === 0) return;
    await mailer.send({ id, ...message, to });
    if (!isNotice) await countSent(parts, tenantId, to);
  });
}
