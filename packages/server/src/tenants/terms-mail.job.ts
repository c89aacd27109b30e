import { panelHome } from '@indelible/protocol';
import type { Jobs } from '../background/jobs.ts';
import type { Parts } from '../parts.ts';
import { readTenant, type WriterTx } from '../postgres/db.ts';
import { getTenant } from './store.ts';
import { termsMail, type WeakerTerms } from './terms-mail.ts';

/** A change and its recipients: the addresses before and after it. */
export interface TermsNotice extends WeakerTerms {
  tenantId: string;
  to: string[];
}

/** Queues the notice, to be sent after `tx` has committed; no notice without recipients. */
export async function sendTermsNotice(
  jobs: Pick<Jobs, 'send'>,
  tx: WriterTx,
  notice: TermsNotice,
): Promise<void> {
  const { tenantId, to } = notice;
  if (to.length > 0) await jobs.send(tx, 'tenant-mail', { data: notice, tenantId });
}

export type TermsMailDeps = Pick<Parts, 'db' | 'plans' | 'jobs' | 'mailer' | 'publicUrl'>;

/**
 * Mail about smaller plans and lifted holds, in jobs: an unavailable mail server does not block the
 * change.
 */
export function handleTermsMail({ db, plans, jobs, mailer, publicUrl }: TermsMailDeps): void {
  jobs.handle<TermsNotice>('tenant-mail', async ({ id, data }) => {
    const { tenantId, to, ...change } = data;
    const tenant = await readTenant(db, tenantId, getTenant);
    if (tenant === null) return;
    const { locale, timeZone, name: tenantName } = tenant;
    const url = `${publicUrl()}${panelHome}?resource=tenant`;
    const mail = termsMail(plans, { ...change, locale, timeZone, tenantName, url });
    await mailer.send({ id, to, ...mail });
  });
}
