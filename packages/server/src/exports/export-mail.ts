import type { Locale } from '@indelible/protocol';
import { composeMail, type Mail, type MailContent, mailTime } from '../outbound/mail-page.ts';
import { type MailTexts, mailTexts } from '../outbound/mail-texts.ts';
import { oneLine } from '../outbound/plain-line.ts';

/** Why an export failed, as far as its reader can act on it. */
export type ExportFailure = keyof MailTexts['export']['why'];

/** The facts of an export's mail. Times are ISO 8601; null if a failed export has none. */
export interface ExportMail {
  locale: Locale;
  outcome: 'ready' | 'failed';
  /** Why it failed; default `unexpected`. */
  failure?: ExportFailure;
  tenantName: string;
  format: 'csv' | 'ndjson';
  rows: number | null;
  bytes: number | null;
  sha256: string | null;
  createdAt: string;
  expiresAt: string | null;
  /** The filters in words; empty = none. */
  filtersText: string;
  /** Page of the export in the panel, which requires sign-in; never a download link. */
  url: string;
  timeZone: string;
}

/** Mail about the end of an export. */
export function exportMail(mail: ExportMail): Mail {
  const { locale, outcome, failure = 'unexpected', tenantName, url } = mail;
  const { why, open, ...texts } = mailTexts[locale].export;
  const { subject, lead, next } = texts[outcome];
  const leads = (about: { tenant: string }) =>
    outcome === 'failed' ? [lead(about), why[failure]] : [lead(about)];
  const facts = factsOf(mail);
  return composeMail({ locale, subject, tenantName, leads, facts, next: [next], open, url });
}

function factsOf(mail: ExportMail): MailContent['facts'] {
  const { locale, timeZone, rows, bytes, sha256, expiresAt } = mail;
  const texts = mailTexts[locale].export;
  const time = (iso: string) => mailTime(Date.parse(iso), locale, timeZone);
  return [
    [texts.filters, oneLine(mail.filtersText) || texts.allEvents],
    [texts.format, mail.format === 'csv' ? 'CSV' : 'NDJSON'],
    [texts.rows, rows === null ? null : new Intl.NumberFormat(locale).format(rows)],
    [texts.size, bytes === null ? null : formatBytes(bytes, locale)],
    ['SHA-256', sha256],
    [texts.requested, time(mail.createdAt)],
    [texts.expires, expiresAt === null ? null : time(expiresAt)],
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
