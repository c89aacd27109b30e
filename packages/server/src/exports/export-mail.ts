import { composeMail, type Mail, type MailContent, mailTime } from '../outbound/mail-page.ts';
import { mailTexts } from '../outbound/mail-texts.ts';
import { oneLine } from '../outbound/plain-line.ts';
import type { TenantRow } from '../tenants/store.ts';
import { fileOf } from './shown-export.ts';
import type { ExportRow } from './store.ts';

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
    [texts.filters, oneLine(filters) || texts.allEvents],
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
