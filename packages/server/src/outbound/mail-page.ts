import { type Locale, locales } from '@indelible/protocol';
import { languages } from '../../../../locales/languages.ts';
import { type Texts, textsIn } from '../../../../locales/texts.ts';
import { withoutLinks } from './plain-line.ts';

/* The layout of mail, as text and HTML: one column that is readable without styles. */

export interface Mail {
  subject: string;
  text: string;
  html: string;
}

/** Mail about an event of a tenant's log: facts, and what to do. */
export interface MailContent {
  locale: Locale;
  subject: string;
  tenantName: string;
  /** The first sentences; the name in them may be HTML. */
  leads: (about: { tenant: string }) => string[];
  /**
   * In reading order; a fact with a null value is omitted. `url` is a page of the panel. Texts that
   * others wrote are `quoted`: a fixed sentence before the facts then says so.
   */
  facts: readonly [label: string, value: string | null, url?: string][];
  /** Fixed sentences after the facts. */
  next: readonly string[];
  /** Label of the link. */
  open: string;
  url: string;
}

/** Names and values cannot start lines or contain markup or links; the subject is fixed. */
export function composeMail(content: MailContent): Mail {
  const { locale, subject, leads, next, open, url } = content;
  const { footer, quotes } = mailTexts[locale];
  const tenant = withoutLinks(content.tenantName);
  const facts = content.facts.flatMap(([label, value, link]): Fact[] =>
    value === null ? [] : [[label, withoutLinks(value), link]],
  );
  const warning = facts.some(([, value]) => value.includes('“')) ? [quotes] : [];
  const text = [
    leads({ tenant }).join('\n'),
    ...warning,
    ...(facts.length > 0 ? [facts.map(lineOf).join('\n')] : []),
    ...next,
    `${open}:\n${url}`,
    footer,
  ].join('\n\n');
  const html = mailPage(locale, subject, [
    ...leads({ tenant: `<bdi>${escapeHtml(tenant)}</bdi>` }).map(paragraph),
    ...warning.map(paragraph),
    ...(facts.length > 0 ? [table(facts)] : []),
    ...next.map(paragraph),
    linkButton(url, open),
    small(footer),
  ]);
  return { subject, text: `${text}\n`, html };
}

const lineOf = ([label, value, link]: Fact) => `${label}: ${value}${link ? `\n${link}` : ''}`;

/** Date, time and zone in words. */
export function mailTime(ms: number, locale: Locale, timeZone: string): string {
  const day = { year: 'numeric', month: 'long', day: 'numeric' } as const;
  const time = { hour: 'numeric', minute: '2-digit', timeZoneName: 'short' } as const;
  return new Intl.DateTimeFormat(locale, { ...day, ...time, timeZone }).format(ms);
}

/** For any position in the page, also attributes. */
function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

export function paragraph(html: string): string {
  return `<p style="margin:0 0 12px">${html}</p>`;
}

type Fact = [label: string, value: string, url: string | undefined];

/** Facts by label; values may contain anything. */
function table(facts: readonly Fact[]): string {
  const cell = 'padding:6px 12px 6px 0;text-align:left;vertical-align:top';
  const linked = (value: string, url: string | undefined) =>
    url === undefined ? value : `<a href="${escapeHtml(url)}">${value}</a>`;
  const rows = facts.map(
    ([label, value, url]) =>
      `<tr><th scope="row" class="muted" style="${cell};font-weight:normal;color:#57606a">${label}</th>` +
      `<td style="${cell};word-break:break-word;overflow-wrap:anywhere"><bdi>${linked(escapeHtml(value), url)}</bdi></td></tr>`,
  );
  return `<table style="margin:16px 0;border-collapse:collapse;font-size:15px">${rows.join('\n')}</table>`;
}

/** The one action; `label` is a fixed text. */
function linkButton(url: string, label: string): string {
  return `<p style="margin:24px 0"><a class="button" href="${escapeHtml(url)}" style="${button}">${label}</a></p>`;
}

/** Small print at the end. */
function small(html: string): string {
  return `<p class="muted" style="margin:24px 0 0;font-size:13px;color:#57606a">${html}</p>`;
}

export const button =
  'display:inline-block;padding:12px 20px;border-radius:6px;background:#0b57d0;color:#ffffff;' +
  'font-weight:600;text-decoration:none';

// Styles are on the elements, because many mail programs drop style sheets. Dark styles can only be
// in a style sheet, and must override those.
const dark = `@media (prefers-color-scheme: dark) {
  body, .card { background: #16181c !important; color: #e6e6e6 !important; }
  .muted { color: #a8b0ba !important; }
  .button { background: #a8c7fa !important; color: #062e6f !important; }
}`;

/** A whole message; inserts `title` and `parts` unescaped. */
export function mailPage(locale: string, title: string, parts: string[]): string {
  return `<!doctype html>
<html lang="${locale}" dir="ltr">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="format-detection" content="telephone=no,date=no,address=no,email=no,url=no">
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

type MailTexts = Texts['mail'] & Pick<Texts['panel']['webhooks'], 'failures'>;

const loaded = locales.map(async (locale): Promise<[Locale, MailTexts]> => {
  const { mail, panel } = textsIn(locale, await languages[locale].load());
  return [locale, { ...mail, failures: panel.webhooks.failures }];
});

/**
 * The texts of mail in each language, to be inserted into HTML unescaped; only the name of a tenant
 * is escaped before.
 */
export const mailTexts = Object.fromEntries(await Promise.all(loaded)) as Record<Locale, MailTexts>;
