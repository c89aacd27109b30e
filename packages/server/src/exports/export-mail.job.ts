import {
  type EventFilter,
  filterToJson,
  panelRoot,
  storedFilter,
  typeId,
} from '@indelible/protocol';
import type { RunningJob } from '../background/jobs.ts';
import {
  composeMail,
  type Mail,
  type MailContent,
  mailTexts,
  mailTime,
} from '../outbound/mail-page.ts';
import { isMailAddress } from '../outbound/outbound-url.ts';
import { quoted } from '../outbound/plain-line.ts';
import type { Parts } from '../parts.ts';
import { readTenant, write } from '../postgres/db.ts';
import { listRecipients } from '../tenants/mail-recipients.store.ts';
import { countSent, mailableOf, mailsPerDayMax } from '../tenants/mail-recipients.ts';
import { getTenant, type TenantRow } from '../tenants/store.ts';
import { exportIdPrefix, fileOf } from './shown-export.ts';
import { type ExportKey, type ExportRow, getExport, setNotified } from './store.ts';

const noRecipients =
  'no e-mail was sent: the requester has no address for mail, and the tenant has no notifyEmails';
const tooMany = `no e-mail was sent: the tenant has had ${mailsPerDayMax} today`;
const notDelivered = 'the e-mail could not be sent: the mail server refused it or did not answer';

/**
 * Mail about exports, in separate jobs: an unavailable mail server fails no export, and mail is
 * retried.
 */
export function handleExportMail(parts: Parts): void {
  const { db, jobs } = parts;
  jobs.handle<ExportKey>(
    'export-mail',
    (job) => mailOutcome(parts, job),
    ({ data }) => write(db, (tx) => setNotified(tx, data, [], notDelivered)),
  );
}

async function mailOutcome(parts: Parts, { id, data }: RunningJob<ExportKey>) {
  const { db, mailer } = parts;
  const found = await readTenant(db, data.tenantId, async (tx) => {
    const [row, tenant] = [await getExport(tx, data.id), await getTenant(tx)];
    return { row, tenant, recipients: await listRecipients(tx) };
  });
  const { row, tenant, recipients } = found;
  if (!row || !tenant || row.notified !== null) return;
  const told = (to: readonly string[], notice: string | null) =>
    write(db, (tx) => setNotified(tx, data, to, notice));
  // A token may have an address to which no mail can be sent: it would fail at every attempt.
  const { mailTo } = row;
  const all = mailTo !== null && isMailAddress(mailTo) ? [mailTo] : tenant.notifyEmails;
  if (all.length === 0) return told([], noRecipients);
  // The address of the requester was judged when the export was made.
  const to = mailableOf({ notifyEmails: all }, recipients, all, parts.now());
  if (to.length === 0) return told([], tooMany);
  const filters = filterWords(storedFilter(row.filters));
  const url = `${parts.publicUrl()}${panelRoot}/exports#${typeId(exportIdPrefix, row.id)}`;
  await mailer.send({ id, to, ...exportMail(tenant, row, filters, url) });
  await countSent(parts, data.tenantId, to);
  // A crash before this sends it again, with the same Message-ID.
  await told(to, null);
}

export type MailedTenant = Pick<TenantRow, 'locale' | 'timeZone' | 'name'>;
type FileFacts = 'rowsDone' | 'bytes' | 'sha256' | 'expiresAtMs';
export type MailedExport = Pick<
  ExportRow,
  FileFacts | 'status' | 'failure' | 'format' | 'createdAtMs'
>;

/**
 * Mail about the end of an export. `filters` are in words, '' for none; `url` is its page in the
 * panel, which requires sign-in, never a download link.
 */
export function exportMail(
  tenant: MailedTenant,
  row: MailedExport,
  filters: string,
  url: string,
): Mail {
  const { locale, name: tenantName } = tenant;
  const { why, open, ready, failed } = mailTexts[locale].export;
  const isFailed = row.status === 'failed';
  const { subject, lead, next } = isFailed ? failed : ready;
  // `aborted` is of exports that are sent with the answer.
  const reason = row.failure === null || row.failure === 'aborted' ? 'unexpected' : row.failure;
  const leads = (about: { tenant: string }) =>
    isFailed ? [lead(about), why[reason]] : [lead(about)];
  const facts = factsOf(tenant, row, filters);
  return composeMail({ locale, subject, tenantName, leads, facts, next: [next], open, url });
}

function factsOf(
  { locale, timeZone }: MailedTenant,
  row: MailedExport,
  filters: string,
): MailContent['facts'] {
  const texts = mailTexts[locale].export;
  const { expiresAtMs } = row;
  const { rows, bytes, sha256 } = fileOf(row);
  const time = (ms: number) => mailTime(ms, locale, timeZone);
  return [
    [texts.filters, filters === '' ? texts.allEvents : quoted(filters)],
    [texts.format, row.format === 'csv' ? 'CSV' : 'NDJSON'],
    [texts.rows, row.status === 'failed' ? null : new Intl.NumberFormat(locale).format(rows)],
    [texts.size, bytes === null ? null : formatBytes(bytes, locale)],
    ['SHA-256', sha256],
    [texts.requested, time(row.createdAtMs)],
    [texts.expires, expiresAtMs === null ? null : time(expiresAtMs)],
  ];
}

/** In powers of 1,000, as file managers show sizes. */
function formatBytes(bytes: number, locale: string): string {
  const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'];
  const power = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), units.length - 1);
  const unitDisplay = power === 0 ? 'long' : 'short';
  const options = { style: 'unit', unitDisplay, maximumFractionDigits: 1 } as const;
  const unit = units[power] ?? 'byte';
  return new Intl.NumberFormat(locale, { ...options, unit }).format(bytes / 1_000 ** power);
}

/** The filter for people: `action: update, not delete · user: ana@example.com`; '' without one. */
function filterWords(filter: EventFilter): string {
  return Object.entries(filterToJson(filter))
    .map(([name, values]) => `${name}: ${[values].flat().map(word).join(', ')}`)
    .join(' · ');
}

function word(value: string): string {
  return value.startsWith('!') ? `≠ ${value.slice(1)}` : value;
}
