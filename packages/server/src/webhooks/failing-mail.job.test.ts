import type { Locale } from '@indelible/protocol';
import { expect, test } from 'vitest';
import { failingMail } from './failing-mail.job.ts';

const tenant = { locale: 'en' as Locale, timeZone: 'Europe/Madrid', name: 'Acme' };
const paused = {
  ...{ id: '019a1c2e-0d3b-7f44-9a51-2b7c8d9e0f13', name: 'SIEM' as string | null },
  ...{ url: 'https://hooks.example/secret', attempt: 8, nextSequence: 655 },
  updatedAtMs: Date.UTC(2026, 5, 1, 12),
};
const last = { responseStatus: 503, reason: 'the receiver answered 503' as string | null };
const root = 'https://audit.example.com/settings/audit';
const url = `${root}/webhooks/whk_`;

/** The mail of a webhook that is 12,345 entries behind. */
const mailWith = (changes: { tenant?: object; webhook?: object; last?: object }) =>
  failingMail(
    { ...tenant, ...changes.tenant },
    { ...paused, ...changes.webhook },
    { ...last, ...changes.last },
    ...([13_000, root] as const),
  );

test.each([
  ['de', 'Ein Webhook Ihres Audit-Protokolls ist angehalten', '12.345 Einträge', '14:00'],
  ['en', 'A webhook of your audit log is paused', '12,345 entries of the log', '2:00'],
  ['es', 'Un webhook del registro de auditoría está en pausa', '12.345 entradas', '14:00'],
  ['pt-BR', 'Um webhook do registro de auditoria está pausado', '12.345 entradas', '14:00'],
] as const)(
  'in %s it tells what happened, how much waits, and where to go',
  (locale, subject, waits, time) => {
    const mail = mailWith({ tenant: { locale } });
    expect(mail.subject).toBe(subject);
    for (const text of [mail.text, mail.html]) {
      for (const word of ['Acme', 'SIEM', 'hooks.example', 'answered 503', waits, time, url]) {
        expect(text).toContain(word);
      }
    }
    expect(mail.html).toContain(`<html lang="${locale}"`);
    expect(mailWith({ tenant: { locale }, last: { responseStatus: 410 } }).text).toContain('410');
  },
);

test('names and reasons can neither begin a line nor become markup', () => {
  const hostile = 'x\r\nBcc: a@example.com <img src=x>';
  const { subject, text, html } = mailWith({
    ...{ tenant: { name: hostile }, webhook: { name: hostile }, last: { reason: hostile } },
  });
  expect(subject).toBe('A webhook of your audit log is paused');
  expect(text).not.toMatch(/^Bcc/m);
  expect(html).not.toContain('<img');
});

test('what is not known is left out', () => {
  const { text } = mailWith({ webhook: { name: null }, last: { reason: null } });
  expect(text).not.toMatch(/null|Last failure/);
});
