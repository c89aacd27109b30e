import type { Locale } from '@indelible/protocol';
import { expect, test } from 'vitest';
import { failingMail } from './failing-mail.job.ts';

const paused = {
  id: '019a1c2e-0d3b-7f44-9a51-2b7c8d9e0f13',
  name: 'SIEM',
  url: 'https://hooks.example/secret',
  attempt: 8,
  nextSequence: 655,
  updatedAtMs: Date.UTC(2026, 5, 1, 12),
};
const root = 'https://audit.example.com/settings/audit';
const url = `${root}/webhooks/whk_`;

/** The mail of a webhook that is 12,345 entries behind. */
const mailIn = (locale: Locale, responseStatus = 503) => {
  const tenant = { locale, timeZone: 'Europe/Madrid', name: 'Acme' };
  const last = { responseStatus, reason: 'the receiver answered 503' };
  return failingMail(tenant, paused, last, 13_000, root);
};

test.each([
  [
    'de',
    'Ein Webhook Ihres Audit-Protokolls ist angehalten',
    '12.345 Einträge',
    '14:00',
    'ausgelastet',
  ],
  ['en', 'A webhook of your audit log is paused', '12,345 entries of the log', '2:00', 'is busy'],
  [
    'es',
    'Un webhook del registro de auditoría está en pausa',
    '12.345 entradas',
    '14:00',
    'está ocupado',
  ],
  [
    'pt-BR',
    'Um webhook do registro de auditoria está pausado',
    '12.345 entradas',
    '14:00',
    'está ocupado',
  ],
] as const)(
  'in %s it tells what happened, why, how much waits, and where to go',
  (locale, subject, waits, time, why) => {
    const mail = mailIn(locale);
    expect(mail.subject).toBe(subject);
    for (const text of [mail.text, mail.html]) {
      for (const word of ['Acme', 'SIEM', 'hooks[.]example', `${why} (503)`, waits, time, url]) {
        expect(text).toContain(word);
      }
    }
    expect(mail.html).toContain(`<html lang="${locale}"`);
    expect(mailIn(locale, 410).text).toContain('410');
  },
);
