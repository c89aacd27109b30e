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

/** Mail on how an export ended, as text and as HTML. The subject holds nothing but our own words. */
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
  const html = page(mail.locale, subject, [
    ...[lead(`<bdi>${escapeHtml(tenant)}</bdi>`), ...why].map(paragraph),
    table(facts),
    paragraph(next),
    `<p style="margin:24px 0"><a class="button" href="${escapeHtml(mail.url)}" style="${button}">${texts.open}</a></p>`,
    `<p class="muted" style="margin:24px 0 0;font-size:13px;color:#57606a">${texts.footer}</p>`,
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

/** A name must neither begin lines of its own nor turn the direction of what follows it. */
function oneLine(text: string): string {
  return text.replace(/[\s\p{Cc}\u202a-\u202e\u2066-\u2069]+/gu, ' ').trim();
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

function paragraph(html: string): string {
  return `<p style="margin:0 0 12px">${html}</p>`;
}

function table(facts: [label: string, value: string][]): string {
  const cell = 'padding:6px 12px 6px 0;text-align:left;vertical-align:top';
  const rows = facts.map(
    ([label, value]) =>
      `<tr><th scope="row" class="muted" style="${cell};font-weight:normal;color:#57606a">${label}</th>` +
      `<td style="${cell};word-break:break-word;overflow-wrap:anywhere"><bdi>${escapeHtml(value)}</bdi></td></tr>`,
  );
  return `<table style="margin:16px 0;border-collapse:collapse;font-size:15px">${rows.join('\n')}</table>`;
}

const button =
  'display:inline-block;padding:12px 20px;border-radius:6px;background:#0b57d0;color:#ffffff;' +
  'font-weight:600;text-decoration:none';

// Styles stand on the elements, because many mail programs drop style sheets; the dark ones can only
// stand in one, where they need to be stronger.
const dark = `@media (prefers-color-scheme: dark) {
  body, .card { background: #16181c !important; color: #e6e6e6 !important; }
  .muted { color: #a8b0ba !important; }
  .button { background: #a8c7fa !important; color: #062e6f !important; }
}`;

function page(locale: string, title: string, parts: string[]): string {
  return `<!doctype html>
<html lang="${locale}" dir="ltr">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>${title}</title>
<style>${dark}</style>
</head>
<body style="margin:0;padding:0;background:#ffffff;color:#1f2328">
<main class="card" style="max-width:560px;margin:0 auto;padding:24px;font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif">
<h1 style="margin:0 0 16px;font-size:22px;line-height:1.3">${title}</h1>
${parts.join('\n')}
</main>
</body>
</html>
`;
}
