import { expect, test } from 'vitest';
import { type FailingMail, failingMail } from './failing-mail.ts';

const paused: FailingMail = {
  ...{ locale: 'en', timeZone: 'Europe/Madrid', tenantName: 'Acme' },
  ...{ name: 'SIEM', host: 'hooks.example', isGone: false },
  ...{ reason: 'the receiver answered 503', attempts: 8, behind: 12_345 },
  pausedAtMs: Date.UTC(2026, 5, 1, 12),
  url: 'https://audit.example.com/settings/audit/webhooks/whk_1',
};

test.each([
  ['de', 'Ein Webhook Ihres Audit-Protokolls ist angehalten', '12.345 Einträge', '14:00'],
  ['en', 'A webhook of your audit log is paused', '12,345 entries of the log', '2:00'],
  ['es', 'Un webhook del registro de auditoría está en pausa', '12.345 entradas', '14:00'],
  ['pt-BR', 'Um webhook do registro de auditoria está pausado', '12.345 entradas', '14:00'],
] as const)(
  'in %s it tells what happened, how much waits, and where to go',
  (locale, subject, waits, time) => {
    const mail = failingMail({ ...paused, locale });
    expect(mail.subject).toBe(subject);
    for (const text of [mail.text, mail.html]) {
      for (const word of [
        'Acme',
        'SIEM',
        'hooks.example',
        'answered 503',
        waits,
        time,
        paused.url,
      ]) {
        expect(text).toContain(word);
      }
    }
    expect(mail.html).toContain(`<html lang="${locale}"`);
    expect(failingMail({ ...paused, locale, isGone: true }).text).toContain('410');
  },
);

test('names and reasons can neither begin a line nor become markup', () => {
  const hostile = 'x\r\nBcc: a@example.com <img src=x>';
  const { subject, text, html } = failingMail({
    ...{ ...paused, tenantName: hostile, name: hostile, reason: hostile },
  });
  expect(subject).toBe('A webhook of your audit log is paused');
  expect(text).not.toMatch(/^Bcc/m);
  expect(html).not.toContain('<img');
});

test('what is not known is left out', () => {
  const { text } = failingMail({ ...paused, name: null, reason: null });
  expect(text).not.toMatch(/null|Last failure/);
});
