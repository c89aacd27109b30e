import { locales } from '@indelible/protocol';
import { startSmtpServer } from '@indelible/testing/smtp-server';
import { afterAll, describe, expect, test } from 'vitest';
import { createMailer } from '../outbound/mail.ts';
import { mailTexts } from '../outbound/mail-page.ts';
import { quoted, withoutLinks } from '../outbound/plain-line.ts';
import { exportMail, type MailedExport, type MailedTenant } from './export-mail.job.ts';

const server = await startSmtpServer();
afterAll(() => server.close());

const logger = { info: () => {}, warn: () => {} };
const mailer = createMailer({
  smtpUrl: server.url,
  mailFrom: 'audit@example.com',
  dataDir: '/nowhere',
  logger,
});

type Given = MailedTenant & MailedExport & { filters: string; url: string };
const mailOf = (given: Given) => exportMail(given, given, given.filters, given.url);

/** What a mail program shows of it, after a real way through SMTP. */
async function received(given: Given) {
  await mailer.send({ id: 'b', to: 'ana@example.org', ...mailOf(given) });
  const { subject, text, html } = server.received.at(-1)?.parsed ?? {};
  return { subject: subject ?? '', text: text ?? '', html: html ?? '' };
}

const ready: Given = {
  locale: 'en',
  name: 'Café Ñandú',
  timeZone: 'America/Sao_Paulo',
  status: 'ready',
  failure: null,
  format: 'csv',
  rowsDone: 1_234_567,
  bytes: 412_345_678,
  sha256: Buffer.from('ab12'.repeat(16), 'hex'),
  createdAtMs: Date.UTC(2026, 10, 20, 14, 5),
  expiresAtMs: Date.UTC(2026, 10, 27, 14, 5),
  filters: 'Action: delete, Since: 2026-01-01',
  url: 'https://audit.example.com/exports/exp_1?a=1&b=2',
};
const failed: Given = {
  ...ready,
  status: 'failed',
  bytes: null,
  sha256: null,
  expiresAtMs: null,
};

/** Text as a browser would show it; enough for what we write. */
const shown = (html: string) =>
  html
    .replace(/<head>.*<\/head>/s, '')
    .replace(/<[^>]*>/g, '')
    .replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));

describe.each([
  ['de', ['1.234.567', '412,3 MB', '20. November 2026', '27. November', '11:05'], /bereit/],
  ['en', ['1,234,567', '412.3 MB', 'November 20, 2026', 'November 27, 2026', '11:05'], /ready/],
  ['es', ['1.234.567', '412,3 MB', '20 de noviembre de 2026', '27 de noviembre', '11:05'], /lista/],
  [
    'pt-BR',
    ['1.234.567', '412,3 MB', '20 de novembro de 2026', '27 de novembro', '11:05'],
    /pronta/,
  ],
] as const)('in %s', (locale, figures, word) => {
  test('text and HTML tell what it is, its size, its SHA-256, the link, and until when', async () => {
    const { subject, text, html } = await received({ ...ready, locale });
    expect(subject).toMatch(word);
    const { name, filters, url } = ready;
    const facts = [...figures, 'ab12'.repeat(16), name, filters, 'CSV'];
    for (const fact of facts) {
      expect(text).toContain(fact);
      expect(shown(html)).toContain(fact);
    }
    expect(text).toContain(url);
    expect(html).toContain(`href="${url.replace('&', '&#38;')}"`);
    expect(html).toContain(`<html lang="${locale}"`);
  });

  test('a failure is told plainly: why, what is not lost, and what to do', async () => {
    const texts = mailTexts[locale].export;
    const sentences = new Set<string>();
    for (const failure of ['storage', 'interrupted', 'unexpected'] as const) {
      const { subject, text, html } = await received({ ...failed, locale, failure });
      expect(subject).toBe(texts.failed.subject);
      for (const sentence of [texts.why[failure], texts.failed.next, ready.name]) {
        expect(text).toContain(sentence);
        expect(shown(html)).toContain(sentence);
      }
      for (const missing of ['SHA-256', 'null', 'NaN', texts.expires, texts.ready.next]) {
        expect(text + html).not.toContain(missing);
      }
      sentences.add(text);
    }
    expect(sentences.size).toBe(3);
    expect((await received({ ...failed, locale })).text).toContain(texts.why.unexpected);
  });
});

test('the languages share no sentence by mistake, and none needs escaping', () => {
  const sentences = (locale: Given['locale']) => {
    const { subject, text } = mailOf({ ...failed, locale, filters: '' });
    return [subject, ...text.split('\n').filter((line) => line.length > 40)];
  };
  const all = locales.flatMap(sentences);
  const own = all.filter((line) => !line.startsWith('http'));
  expect(new Set(own).size).toBe(own.length);
  for (const texts of Object.values(mailTexts)) {
    expect(JSON.stringify(texts)).not.toMatch(/[<>&]/);
  }
});

const hostileNames = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  '</bdi></p><a href="https://evil.example">Open the export</a>',
  "' onmouseover='alert(1)",
  '&lt;b&gt; &amp; &#60;',
  'Acme\r\nBcc: eve@example.net\r\n\r\nSHA-256: 0000',
  'Acme\u202eelpmaxe\u2066\u0000\u0007',
  '😀 شركة 公司 é '.repeat(20),
];

test.each(hostileNames)(
  'a tenant named %j is shown as its name, and does nothing else',
  async (name) => {
    const mail = { ...ready, name, filters: name };
    const [plain, { subject, text, html }] = [await received(ready), await received(mail)];
    expect(subject).toBe(plain.subject);
    expect(server.received.at(-1)?.to).toEqual(['ana@example.org']);
    // No mail links to another site, and invisible characters are written as code points.
    const visible = withoutLinks(name);
    expect(visible).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(text).toContain(visible);
    expect(shown(html)).toContain(visible);
    expect(text).toContain(`Filters: ${quoted(name)}\n`);
    expect(text + html).not.toContain('evil.example');
    expect(html.match(/<[^>]*>/g)).toEqual(plain.html.match(/<[^>]*>/g));
    expect(text.trim().split('\n')).toHaveLength(plain.text.trim().split('\n').length);
  },
);

test.each([
  [0, '0 bytes'],
  [1, '1 byte'],
  [999, '999 bytes'],
  [1_000, '1 kB'],
  [1_500_000, '1.5 MB'],
  [1_000_000_000, '1 GB'],
  [2_500_000_000_000, '2.5 TB'],
  [2_500_000_000_000_000, '2,500 TB'],
])('%i bytes are told as %s', (bytes, expected) => {
  expect(mailOf({ ...ready, bytes }).text).toContain(`Size: ${expected}\n`);
});

test('no filters are told as all events, and times in the zone of the tenant', () => {
  const { text } = mailOf({ ...ready, filters: '', format: 'ndjson', timeZone: 'UTC' });
  expect(text).toContain('Filters: none (all events)\n');
  expect(text).toContain('Format: NDJSON\n');
  expect(text).toMatch(/Requested: November 20, 2026 at 2:05\sPM UTC\n/);
});
