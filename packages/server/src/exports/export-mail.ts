import {
  escapeHtml,
  linkButton,
  mailPage,
  oneLine,
  paragraph,
  small,
  table,
} from '../outbound/mail-page.ts';
import { type ExportFailure, exportMailTexts } from './export-mail-texts.ts';

/** What an export's mail tells. Times are ISO 8601; what a failed export does not have is null. */
export interface ExportMail {
  locale: 'en' | 'es' | 'pt-BR';
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
  /** Page of the export in the panel, which asks for a sign-in: never a link that downloads. */
  url: string;
  timeZone: string;
}

/**
 * Mail on how an export ended, as text and as HTML. The subject holds nothing but our own words.
 */
export function exportMail(mail: ExportMail): { subject: string; text: string; html: string } {
  const texts = exportMailTexts[mail.locale];
  const { subject, lead } = texts[mail.outcome];
  const why = mail.outcome === 'failed' ? [texts.why[mail.failure ?? 'unexpected']] : [];
  const next = mail.outcome === 'failed' ? texts.failedNext : texts.readyNext;
  const facts = factsOf(mail);
  const tenant = oneLine(mail.tenantName);
  const text = [
    [lead(tenant), ...why].join('\n'),
    facts.map(([label, value]) => `${label}: ${value}`).join('\n'),
    next,
    `${texts.open}:\n${mail.url}`,
    texts.footer,
  ].join('\n\n');
  const html = mailPage(mail.locale, subject, [
    ...[lead(`<bdi>${escapeHtml(tenant)}</bdi>`), ...why].map(paragraph),
    table(facts),
    paragraph(next),
    linkButton(mail.url, texts.open),
    small(texts.footer),
  ]);
  return { subject, text: `${text}\n`, html };
}

/** What can be said of it, in reading order: label and value. */
function factsOf(mail: ExportMail): [label: string, value: string][] {
  const { locale, rows, bytes, sha256, expiresAt } = mail;
  const texts = exportMailTexts[locale];
  const time = (iso: string) => formatTime(iso, locale, mail.timeZone);
  const facts: [string, string | null][] = [
    [texts.filters, oneLine(mail.filtersText) || texts.allEvents],
    [texts.format, mail.format === 'csv' ? 'CSV' : 'NDJSON'],
    [texts.rows, rows === null ? null : new Intl.NumberFormat(locale).format(rows)],
    [texts.size, bytes === null ? null : formatBytes(bytes, locale)],
    ['SHA-256', sha256],
    [texts.requested, time(mail.createdAt)],
    [texts.expires, expiresAt === null ? null : time(expiresAt)],
  ];
  return facts.filter((fact): fact is [string, string] => fact[1] !== null);
}

function formatTime(iso: string, locale: string, timeZone: string): string {
  const day = { year: 'numeric', month: 'long', day: 'numeric' } as const;
  const time = { hour: 'numeric', minute: '2-digit', timeZoneName: 'short' } as const;
  return new Intl.DateTimeFormat(locale, { ...day, ...time, timeZone }).format(new Date(iso));
}

/** In powers of 1,000, as file managers and disks count. */
function formatBytes(bytes: number, locale: string): string {
  const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'];
  const power = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), units.length - 1);
  const unitDisplay = power === 0 ? 'long' : 'short';
  const options = { style: 'unit', unitDisplay, maximumFractionDigits: 1 } as const;
  const unit = units[power] ?? 'byte';
  return new Intl.NumberFormat(locale, { ...options, unit }).format(bytes / 1_000 ** power);
}
