import { defaultPlans, locales } from '@indelible/protocol';
import { testService } from '@indelible/testing/service';
import { startSmtpServer } from '@indelible/testing/smtp-server';
import { expect, test } from 'vitest';
import { mailTexts } from '../outbound/mail-page.ts';
import { type TermsMail, termsMail } from './terms-mail.job.ts';

const smtp = await startSmtpServer();
const service = await testService({
  SMTP_URL: smtp.url,
  PUBLIC_URL: 'https://audit.example.com',
  METRICS_TOKEN: 'a-token',
});
service.app.jobs.start();

const mailsTo = (address: string) => smtp.received.filter(({ to }) => to.includes(address));

async function put(id: string, body: Record<string, unknown>): Promise<number> {
  const headers = { 'x-access-reason': 'contract%20ended' };
  return (await service.call({ method: 'PUT', url: `/api/tenants/${id}`, body, headers })).status;
}

async function tenantTold(to: string[], more: Record<string, unknown> = {}) {
  const { id } = await service.tenant('Enterprise');
  expect(await put(id, { notifyEmails: to, ...more })).toBe(200);
  return id;
}

async function queued(id: string): Promise<string[]> {
  const { rows } = await service.owner.query<{ state: string }>(
    `SELECT CASE WHEN lease IS NULL AND attempts > 0 THEN 'retry' ELSE 'queued' END AS state
      FROM jobs WHERE queue = 'tenant-mail' AND tenant_id = $1`,
    [id],
  );
  return rows.map(({ state }) => state);
}

test('a downgrade is mailed to the tenant, in its language and zone, as text and HTML', async () => {
  const zone = { locale: 'pt-BR', timeZone: 'America/Sao_Paulo' };
  const id = await tenantTold(['ana@example.com', 'ben@example.com'], {
    ...zone,
    name: 'Café & Co',
  });
  // The evening of 1 March there; within a year, beyond which PostgreSQL makes no partitions.
  const year = new Date(service.clock.now - 61 * 86_400_000).getUTCFullYear();
  service.clock.now = Date.UTC(year, 2, 2, 2);
  expect(await put(id, { plan: 'Starter' })).toBe(200);
  await expect.poll(() => mailsTo('ana@example.com').length, { timeout: 15_000 }).toBe(1);
  const { parsed, to } = mailsTo('ana@example.com')[0] ?? {};
  expect(to).toEqual(['ana@example.com', 'ben@example.com']);
  expect(parsed?.subject).toBe(mailTexts['pt-BR'].terms.subject);
  for (const shown of ['Enterprise → Starter', 'contract ended', `1 de março de ${year}`]) {
    expect(parsed?.text).toContain(shown);
    expect(parsed?.html).toContain(shown);
  }
  // 30 days later, there: the end of the grace.
  expect(parsed?.text).toContain(`31 de março de ${year}`);
  expect(parsed?.text).toContain('Café & Co');
  expect(parsed?.html).toContain('Café &#38; Co');
  expect(parsed?.html).toContain('<html lang="pt-BR"');
  expect(parsed?.text).toContain('https://audit.example.com/settings/audit/events?resource=tenant');
});

test('a lifted hold is mailed, also to addresses that the same change takes away', async () => {
  const id = await tenantTold(['former@example.com'], { legalHold: true });
  expect(await put(id, { legalHold: false, notifyEmails: ['new@example.com'] })).toBe(200);
  await expect.poll(() => mailsTo('former@example.com').length, { timeout: 15_000 }).toBe(1);
  const { parsed, to } = mailsTo('new@example.com')[0] ?? {};
  expect(to).toEqual(['former@example.com', 'new@example.com']);
  expect(parsed?.subject).toBe(mailTexts.en.terms.liftedSubject);
  expect(parsed?.text).toContain('Events older than 7 years are hidden from now on');
});

test('former addresses are told that they are, and for 30 days of what follows', async () => {
  const id = await tenantTold(['first@example.com'], { legalHold: true });
  const subjects = () => mailsTo('first@example.com').map(({ parsed }) => parsed?.subject);
  const { terms } = mailTexts.en;
  // All at once, in an order that leaves no recipient in the end.
  for (const body of [{ notifyEmails: [] }, { legalHold: false }, { plan: 'Pro' }]) {
    expect(await put(id, body)).toBe(200);
  }
  const told = [terms.emailsSubject, terms.liftedSubject, terms.subject].toSorted();
  await expect.poll(() => subjects().toSorted(), { timeout: 15_000 }).toEqual(told);
  const change = mailsTo('first@example.com').find(
    ({ parsed }) => parsed?.subject === terms.emailsSubject,
  );
  expect(change?.parsed?.text).toContain('first@example[.]com → –');
  service.clock.now += 31 * 86_400_000;
  expect(await put(id, { plan: 'Starter' })).toBe(200);
  expect(await queued(id)).toEqual([]);
});

test('a change that takes nothing away sends no mail, and neither does one that was not made', async () => {
  const id = await tenantTold(['calm@example.com'], { plan: 'Pro' });
  await expect.poll(() => queued(id), { timeout: 15_000 }).toEqual([]);
  for (const body of [{ plan: 'Enterprise' }, { legalHold: true }, { name: 'Other' }]) {
    expect(await put(id, body)).toBe(200);
  }
  await service.owner.query("UPDATE log_rounds SET halted = 'a test'");
  expect(await put(id, { plan: 'Starter' })).toBe(503);
  await service.owner.query('UPDATE log_rounds SET halted = NULL');
  expect(await queued(id)).toEqual([]);
  const lonely = await service.tenant('Pro');
  expect(await put(lonely.id, { plan: 'Starter' })).toBe(200);
  expect(await queued(lonely.id)).toEqual([]);
});

test('a mail server that is down keeps no change from being made, and is tried again', async () => {
  const id = await tenantTold(['late@example.com']);
  await smtp.close();
  expect(await put(id, { plan: 'Pro' })).toBe(200);
  await expect.poll(() => queued(id), { timeout: 15_000 }).toEqual(['retry']);
  await smtp.reopen();
  await service.owner.query(
    `UPDATE jobs SET due_at = 'epoch' WHERE queue = 'tenant-mail' AND tenant_id = $1`,
    [id],
  );
  await expect.poll(() => mailsTo('late@example.com').length, { timeout: 15_000 }).toBe(1);
});

const mail: TermsMail = {
  locale: 'en',
  timeZone: 'UTC',
  tenantName: 'Acme',
  url: 'https://audit.example.com/',
  before: { plan: 'Enterprise', legalHold: true, notifyEmails: ['ana@example.com'] },
  after: { plan: 'Pro', legalHold: false, notifyEmails: [] },
  atMs: Date.UTC(2027, 0, 1),
  keptUntilMs: Date.UTC(2027, 0, 31),
  by: 'olga@example.com',
  reason: 'ticket 1',
};

test.each(locales)('in %s every change is told, in its own words', (locale) => {
  const texts = mailTexts[locale].terms;
  const { subject, text, html } = termsMail(defaultPlans, { ...mail, locale });
  expect(subject).toBe(texts.liftedSubject);
  const leads = [texts.lifted, texts.smaller, texts.emails].map((say) => say({ tenant: 'Acme' }));
  for (const word of [...leads, texts.liftedWord, 'ana@example[.]com → –', '“ticket 1”']) {
    expect(text).toContain(word);
  }
  expect(html).toContain('olga@example[.]com');
  expect(JSON.stringify(texts)).not.toMatch(/[<>&]/);
  const held = termsMail(defaultPlans, {
    ...mail,
    locale,
    after: { ...mail.after, legalHold: true },
  });
  expect(held.subject).toBe(texts.subject);
  expect(held.text).toContain(texts.held);
  const greater = termsMail(defaultPlans, {
    ...mail,
    locale,
    before: { ...mail.before, plan: 'Starter' },
  });
  expect(greater.text).not.toContain(texts.smaller({ tenant: 'Acme' }));
  expect(greater.text).toContain('Starter → Pro');
});

test.each(['<img src=x onerror=alert(1)>', 'Acme\r\nBcc: eve@example.net', 'A\u202eb'])(
  'a tenant and a reason of %j are shown as they are, and do nothing else',
  (hostile) => {
    const plain = termsMail(defaultPlans, mail);
    const { subject, text, html } = termsMail(defaultPlans, {
      ...mail,
      tenantName: hostile,
      reason: hostile,
    });
    expect(subject).toBe(plain.subject);
    expect(html.match(/<[^>]*>/g)).toEqual(plain.html.match(/<[^>]*>/g));
    expect(text.split('\n')).toHaveLength(plain.text.split('\n').length);
  },
);

test('no address that a caller wrote is in a mail: the only link is our own', () => {
  const hostile = 'Log in at https://evil.example/login or WWW.evil.example or ftp://evil.example';
  const { text, html } = termsMail(defaultPlans, { ...mail, tenantName: hostile, reason: hostile });
  for (const part of [text, html]) {
    expect(part).not.toContain('evil.example');
    expect(part).toContain('“Log in at https[:]//evil[.]example/login or WWW[.]evil[.]example or ');
    expect(part.match(/https?:\/\/[^\s"<]+/g)).toEqual([mail.url]);
  }
});
