import { panelRoot, storedFilter, typeId } from '@indelible/protocol';
import type { RunningJob } from '../background/jobs.ts';
import type { Parts } from '../parts.ts';
import { readTenant, write } from '../postgres/db.ts';
import { getTenant } from '../tenants/store.ts';
import { filterWords } from './export-input.ts';
import { exportMail } from './export-mail.ts';
import { exportIdPrefix } from './shown-export.ts';
import { type ExportKey, getExport, setNotified } from './store.ts';

export type ExportMailDeps = Pick<Parts, 'db' | 'jobs' | 'mailer' | 'publicUrl'>;

const noRecipients =
  'no e-mail was sent: the requester has no address, and the tenant has no notifyEmails';
const notDelivered = 'the e-mail could not be sent: the mail server refused it or did not answer';

/**
 * Mail about exports, in separate jobs: an unavailable mail server fails no export, and mail is
 * retried.
 */
export function handleExportMail(deps: ExportMailDeps): void {
  const { db, jobs } = deps;
  jobs.handle<ExportKey>(
    'export-mail',
    (job) => mailOutcome(deps, job),
    ({ data }) => write(db, (tx) => setNotified(tx, data, [], notDelivered)),
  );
}

async function mailOutcome(deps: ExportMailDeps, { id, data }: RunningJob<ExportKey>) {
  const { db, mailer } = deps;
  const found = await readTenant(db, data.tenantId, async (tx) => {
    return { row: await getExport(tx, data.id), tenant: await getTenant(tx) };
  });
  const { row, tenant } = found;
  if (!row || !tenant || row.notified !== null) return;
  const told = (to: readonly string[], notice: string | null) =>
    write(db, (tx) => setNotified(tx, data, to, notice));
  const to = row.mailTo === null ? tenant.notifyEmails : [row.mailTo];
  if (to.length === 0) return told([], noRecipients);
  const filters = filterWords(storedFilter(row.filters));
  const url = `${deps.publicUrl()}${panelRoot}/exports#${typeId(exportIdPrefix, row.id)}`;
  await mailer.send({ id, to, ...exportMail(tenant, row, filters, url) });
  // A crash before this sends it again, with the same Message-ID.
  await told(to, null);
}
