import type { QueueName } from '../background/jobs.ts';
import type { Mail } from '../outbound/mail-page.ts';
import type { Parts } from '../parts.ts';
import { readTenant, type TenantTx } from '../postgres/db.ts';
import { getTenant, type TenantRow } from './store.ts';

/**
 * Mail to tenants in jobs of their own: an unavailable mail server stops nothing else. `compose`
 * resolves to null if there is nothing to tell any more.
 */
export function handleTenantMail<Data extends { tenantId: string }>(
  { db, jobs, mailer }: Parts,
  queue: QueueName,
  compose: (
    tenant: TenantRow,
    data: Data,
    tx: TenantTx,
  ) => Promise<(Mail & { to: readonly string[] }) | null>,
): void {
  jobs.handle<Data>(queue, async ({ id, data }) => {
    const mail = await readTenant(db, data.tenantId, async (tx) => {
      const tenant = await getTenant(tx);
      return tenant && compose(tenant, data, tx);
    });
    if (mail && mail.to.length > 0) await mailer.send({ id, ...mail });
  });
}
