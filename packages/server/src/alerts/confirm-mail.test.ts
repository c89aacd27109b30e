import { watchedService } from '@indelible/testing/alert-setup';
import { atEnd } from '@indelible/testing/at-end';
import { expectLogIntact } from '@indelible/testing/intact';
import { startSmtpServer } from '@indelible/testing/smtp-server';
import { expect, test } from 'vitest';
import { mailsPerDayMax } from '../tenants/mail-recipients.ts';
import { minuteMs } from './evaluate.ts';

const smtp = await startSmtpServer();
atEnd(() => smtp.close());
const { service, tenant, alerts } = await watchedService({ SMTP_URL: smtp.url });
const dayMs = 86_400_000;

/** Evaluates the rules and sends all mail; the messages since the call before. */
async function mails() {
  const before = smtp.received.length;
  await alerts.evaluate();
  for (const queue of ['alert-mail', 'confirm-mail'] as const) {
    while ((await queued(queue)) > 0) await service.app.jobs.tick(queue);
  }
  return smtp.received.slice(before);
}

async function queued(queue: string): Promise<number> {
  const { rowCount } = await service.owner.query('SELECT FROM jobs WHERE queue = $1', [queue]);
  return rowCount ?? 0;
}

const linkIn = (text = '') => /https?:\/\/\S+\/confirm-mail\/\S+/.exec(text)?.[0] ?? '';
const subject = 'Confirm that you want mail of an audit log';

async function open(link: string, method: 'GET' | 'POST') {
  const headers = method === 'POST' ? { 'content-type': 'application/x-www-form-urlencoded' } : {};
  const { statusCode, body } = await service.app.http.inject({
    method,
    url: new URL(link).pathname,
    headers,
  });
  return { status: statusCode, text: body };
}

async function invented(emails: string[], name = 'Call evil.example') {
  const rule = await alerts.create({ name, notify: { emails } });
  expect(rule.awaitingConfirmation).toEqual(emails);
  return rule;
}

test('an address that a tenant invented gets no alert before it has confirmed by the button', async () => {
  const { id } = await invented(['ops@example.com']);
  await alerts.record({});
  const [asked, ...others] = await mails();
  expect(others).toEqual([]);
  expect([asked?.to, asked?.parsed.subject]).toEqual([['ops@example.com'], subject]);
  expect(asked?.parsed.text).not.toMatch(/Call|evil/);
  const link = linkIn(asked?.parsed.text);
  for (let n = 0; n < 2; n++) expect((await open(link, 'GET')).text).toContain('<form');
  expect((await alerts.call('GET', `/${id}`)).body.awaitingConfirmation).toEqual([
    'ops@example.com',
  ]);
  expect((await open(link, 'POST')).status).toBe(200);
  expect((await open(link, 'POST')).status).toBe(404);
  expect((await open(link, 'GET')).status).toBe(404);
  expect((await alerts.call('GET', `/${id}`)).body.awaitingConfirmation).toEqual([]);
  service.clock.now += 10 * minuteMs;
  await alerts.record({});
  expect((await mails()).map(({ to, parsed }) => [to, parsed.subject])).toEqual([
    [['ops@example.com'], 'Alert from your audit log'],
  ]);
  const url = '/api/audit-logs?action=confirm';
  expect((await service.call({ url, key: tenant.key })).body.data).toHaveLength(1);
  await expectLogIntact(service, tenant.id);
});

test('a link works for its tenant alone, and for seven days; the database has its hash', async () => {
  await invented(['ops@example.com']);
  const link = linkIn((await mails())[0]?.parsed.text);
  const [, token = ''] = /([^/]+)$/.exec(link) ?? [];
  const other = await service.tenant('Pro');
  expect((await open(link.replace(tenant.id, other.id), 'POST')).status).toBe(404);
  const { rows } = await service.owner.query(
    'SELECT r::text AS row FROM mail_recipients r UNION SELECT data::text FROM jobs',
  );
  expect(rows.map(({ row }) => row).join()).not.toContain(token);
  service.clock.now += 7 * dayMs;
  expect((await open(link, 'POST')).status).toBe(404);
  await alerts.record({});
  expect((await mails()).map(({ parsed }) => parsed.subject)).toEqual([subject]);
});

test('600 invented addresses get 20 confirmation mails a day, and none gets two in a week', async () => {
  for (let n = 0; n < 30; n++) {
    await invented(Array.from({ length: 20 }, (_, m) => `a${n}.${m}@example.com`));
  }
  const asked = await mails();
  expect(new Set(asked.map(({ to }) => String(to))).size).toBe(20);
  expect(asked).toHaveLength(20);
  await invented(['A0.0@example.com', 'a0.0@EXAMPLE.com']);
  await alerts.record({});
  expect(await mails()).toEqual([]);
});

test('a tenant has so many mails a day, and more on the next', async () => {
  const notifyEmails = ['ana@example.com', 'bo@example.com'];
  await service.call({
    method: 'PUT',
    url: `/api/tenants/${tenant.id}`,
    body: { notifyEmails },
  });
  const { awaitingConfirmation } = await alerts.create();
  expect(awaitingConfirmation).toEqual([]);
  await service.owner.query(
    `INSERT INTO mail_recipients (tenant_id, email, mails_on, mails) VALUES ($1, 'x', $2, $3)`,
    [tenant.id, new Date(service.clock.now).toISOString().slice(0, 10), mailsPerDayMax - 1],
  );
  await alerts.record({});
  expect((await mails()).map(({ to }) => to)).toEqual([['ana@example.com']]);
  service.clock.now += 10 * minuteMs;
  await alerts.record({});
  expect(await mails()).toEqual([]);
  service.clock.now += dayMs;
  await alerts.record({});
  expect((await mails()).map(({ to }) => to)).toEqual([notifyEmails]);
});
