import { randomUUID } from 'node:crypto';
import { locales } from '@indelible/protocol';
import { serviceOn, testService } from '@indelible/testing/service';
import { startSmtpServer } from '@indelible/testing/smtp-server';
import { beforeEach, expect, test } from 'vitest';
import { mailTexts } from '../outbound/mail-page.ts';
import { type TenantDigest, tenantDigest } from './digest-mail.ts';

const day = 86_400_000;
const monday = Date.UTC(2026, 10, 16);

const env = () => ({
  SMTP_URL: smtp.url,
  PUBLIC_URL: 'https://audit.example.com',
  METRICS_TOKEN: 'a-token',
  OPERATOR_DIGEST_EMAILS: 'ops@example.com, boss@example.com',
});
const smtp = await startSmtpServer();
const service = await testService(env());
beforeEach(async () => {
  // Of earlier tests nothing is due any more.
  await service.owner.query(`UPDATE tenants SET digest = 'none'`);
  await service.owner.query('UPDATE installation SET digests_until = NULL');
  await service.owner.query('DELETE FROM jobs');
  smtp.received.length = 0;
});

const mailsTo = (address: string) => smtp.received.filter(({ to }) => to.includes(address));

async function put(id: string, body: Record<string, unknown>) {
  const answer = await service.call({ method: 'PUT', url: `/api/tenants/${id}`, body });
  expect(answer.status, answer.text).toBe(200);
  return answer.body;
}

/** A tenant with a digest since the day before `ms`, and an address of its own. */
async function reader(settings: Record<string, unknown> = {}, ms = monday) {
  service.clock.now = ms - day;
  const tenant = await service.tenant();
  const email = `${tenant.id}@example.com`;
  await put(tenant.id, { notifyEmails: [email], digest: 'weekly', ...settings });
  return { ...tenant, email };
}

/** Queues what is due at this moment and sends it. */
async function runAt(ms: number) {
  service.clock.now = ms;
  await service.app.background.run('digests');
  await service.app.jobs.tick('digest-mail');
}

async function visit(tenant: { id: string }, ms: number, who: string, reason: string) {
  service.clock.now = ms;
  const headers = { 'x-tenant-id': tenant.id, 'x-operator-email': who };
  const answer = await service.call({
    url: `/api/audit-logs?user=${randomUUID()}`,
    headers: { ...headers, 'x-access-reason': encodeURIComponent(reason) },
  });
  expect(answer.status, answer.text).toBe(200);
}

const hour = 3_600_000;

test('a digest says who visited, why, without a reason, and what was exported, with links', async () => {
  const tenant = await reader({ name: 'Café & Co', timeZone: 'Europe/Madrid' });
  await runAt(monday + hour);
  await visit(tenant, monday + 2 * hour, 'olga@example.com', 'ticket 1');
  await visit(tenant, monday + 2.4 * hour, 'olga@example.com', 'ticket 1'); // the same visit
  await visit(tenant, monday + 4 * hour, 'olga@example.com', 'ticket 1');
  await visit(tenant, monday + 4 * hour, 'olga@example.com', 'ticket 2, see https://evil.example');
  const operator = { id: randomUUID(), email: 'otto@example.com', role: 'superadmin' };
  const event = { actor: operator, action: 'delete', diff: {} };
  const resource = { type: 'queue', id: randomUUID(), name: 'Top secret name' };
  const body = { ...event, resource, timestamp: new Date(monday + 5 * hour).toISOString() };
  service.clock.now = monday + 5 * hour;
  const recorded = await service.call({
    method: 'POST',
    url: '/api/audit-logs',
    key: tenant.key,
    body,
  });
  expect(recorded.status, recorded.text).toBe(201);
  const exported = { filters: {}, format: 'csv' };
  await service.call({
    method: 'POST',
    url: '/api/audit-logs/exports',
    key: tenant.key,
    body: exported,
  });
  await service.app.checkpoints.tick();
  await runAt(monday + 7 * day - hour - 1);
  expect(mailsTo(tenant.email)).toEqual([]);
  await runAt(monday + 7 * day - hour); // midnight in Madrid
  const [mail] = mailsTo(tenant.email);
  const text = mail?.parsed.text ?? '';
  expect(mail?.parsed.subject).toBe('Your audit log, November 16, 2026 to November 22, 2026');
  for (const line of [
    'This happened in the audit log of Café & Co from November 16, 2026 to November 22, 2026.',
    'Operator visits: 4',
    'Visits without a declared reason: 1',
    'Operator: olga@example[.]com: 3 visits · “ticket 1” · “ticket 2, see https[:]//evil[.]example”',
    'Operator: otto@example[.]com: 1 visit',
    'Alerts: 0',
    'Exports: 1',
  ]) {
    expect(text.split('\n')).toContain(line);
  }
  expect(text).toMatch(/^Verification: (\d+) of \1 entries of the log are covered by the signed/m);
  const links = new Set(text.match(/https?:\S+/g));
  const range = 'from=2026-11-15T23%3A00%3A00.000Z&to=2026-11-22T23%3A00%3A00.000Z';
  const root = 'https://audit.example.com/settings/audit';
  expect([...links]).toEqual([
    `${root}/operator-access?${range}`,
    `${root}/operator-access?${range}&has_reason=false`,
    `${root}/alerts`,
    `${root}/events?action=access&resource=export&${range}`,
    `${root}/integrity`,
    `${root}/events?${range}`,
  ]);
  expect(mail?.raw).not.toContain('Top secret name');
});

test('alerts and exports that a producer recorded are not counted', async () => {
  const tenant = await reader();
  await runAt(monday + hour);
  const actor = { id: randomUUID(), email: 'eve@example.com', role: 'admin' };
  for (const [action, type] of [
    ['raise', 'alert'],
    ['access', 'export'],
  ]) {
    const body = { actor, action, resource: { type, id: randomUUID() }, diff: {} };
    const url = '/api/audit-logs';
    const answer = await service.call({ method: 'POST', url, key: tenant.key, body });
    expect(answer.status, answer.text).toBe(201);
  }
  await runAt(monday + 7 * day);
  const lines = mailsTo(tenant.email)[0]?.parsed.text?.split('\n');
  expect(lines).toEqual(expect.arrayContaining(['Alerts: 0', 'Exports: 0']));
});

test('each period has one digest, however many processes look for it and whatever crashes', async () => {
  const tenant = await reader();
  await runAt(monday + hour);
  const other = await serviceOn(service.servingUrl, service.clock, env());
  service.clock.now = monday + 7 * day;
  const both = [service.app, other.app];
  await Promise.all(both.map(({ background }) => background.run('digests')));
  // The process that took the period dies before it sends anything.
  const { rows } = await service.owner.query('SELECT id FROM jobs WHERE tenant_id = $1', [
    tenant.id,
  ]);
  expect(rows).toHaveLength(1);
  await Promise.all(both.map(({ background }) => background.run('digests')));
  await other.app.jobs.tick('digest-mail');
  await other.close();
  await runAt(monday + 7 * day + hour);
  expect(mailsTo(tenant.email)).toHaveLength(1);
  await runAt(monday + 28 * day); // the job did not run for three weeks
  const starts = mailsTo(tenant.email).map(({ parsed }) => parsed.subject?.slice(16, 33));
  expect(starts.toSorted()).toEqual([
    ...['December 7, 2026 ', 'November 16, 2026', 'November 23, 2026', 'November 30, 2026'],
  ]);
});

test('a tenant that has left, switched off, or has no addresses gets none', async () => {
  const [closed, off, mute] = [await reader(), await reader(), await reader()];
  await runAt(monday + hour);
  await service.owner.query('UPDATE log_heads SET closed_at = now() WHERE tenant_id = $1', [
    closed.id,
  ]);
  await put(mute.id, { notifyEmails: [] });
  service.clock.now = monday + 7 * day;
  await service.app.background.run('digests');
  await put(off.id, { digest: 'none' });
  await service.app.jobs.tick('digest-mail');
  const { rows } = await service.owner.query(`SELECT FROM jobs WHERE queue = 'digest-mail'`);
  expect(rows).toEqual([]);
  for (const { email } of [closed, off, mute]) expect(mailsTo(email)).toEqual([]);
});

test('the choice of a tenant is a setting like any other: recorded, and refused if it is none', async () => {
  const { id, key } = await reader();
  expect((await put(id, { digest: 'monthly' })).digest).toBe('monthly');
  const query = 'action=update&resource=tenant&include=state&resource_id=';
  const { body } = await service.call({ url: `/api/audit-logs?${query}${id}`, key });
  expect(body.data[0].diff).toEqual({ digest: { from: 'weekly', to: 'monthly' } });
  const wrong = await service.call({
    method: 'PUT',
    url: `/api/tenants/${id}`,
    body: { digest: 'daily' },
  });
  expect([wrong.status, wrong.body.errors[0].path]).toEqual([422, '/digest']);
});

test('a new rhythm begins with the period that is running', async () => {
  const tenant = await reader();
  await runAt(monday + hour);
  await put(tenant.id, { digest: 'monthly' });
  await runAt(monday + 2 * hour);
  await runAt(monday + 8 * day);
  expect(mailsTo(tenant.email)).toEqual([]);
  await runAt(Date.UTC(2026, 11, 1));
  expect(mailsTo(tenant.email).map(({ parsed }) => parsed.subject)).toEqual([
    'Your audit log, November 1, 2026 to November 30, 2026',
  ]);
});

test('the operator reads over all tenants where operators were, and no text of any event', async () => {
  const later = monday + 70 * day;
  const visited = await reader({ name: 'Visited' }, later);
  const calm = await reader({ name: 'Calm' }, later);
  await runAt(later + hour);
  await visit(visited, later + 2 * hour, 'olga@example.com', 'secret reason');
  await runAt(later + 7 * day);
  const [mail, more] = mailsTo('ops@example.com');
  expect(more).toBeUndefined();
  expect(mail?.to).toEqual(['ops@example.com', 'boss@example.com']);
  const text = mail?.parsed.text ?? '';
  expect(text).toContain('Tenant: Visited: visits 1, without a reason 0');
  expect(text).not.toMatch(/Calm|secret reason|olga/);
  expect(mailsTo(calm.email)).toHaveLength(1);
});

const facts: TenantDigest['facts'] = {
  visits: [
    { email: null, reason: null, visits: 1 },
    ...Array.from({ length: 12 }, (_, n) => {
      return { email: `op${n}@example.com`, reason: 'because', visits: 1_000 };
    }),
    ...Array.from({ length: 7 }, (_, n) => {
      return { email: 'op0@example.com', reason: `reason ${n}`, visits: 1 };
    }),
  ],
  alerts: 10_001,
  exports: 1,
  entries: 12,
  checkpoint: null,
};
const digest: TenantDigest = {
  tenant: { name: 'Acme', locale: 'en', timeZone: 'UTC' },
  period: { fromMs: monday, toMs: monday + 7 * day },
  facts,
  isHalted: false,
  root: 'https://a.example/settings/audit',
};

test.each(locales)('in %s every fact is told, with numbers and days as written there', (locale) => {
  const t = mailTexts[locale].digest;
  const { text, html, subject } = tenantDigest({ ...digest, tenant: { ...digest.tenant, locale } });
  const number = (count: number) => new Intl.NumberFormat(locale).format(count);
  expect(subject).toContain('2026');
  for (const part of [`${t.visits}: ${number(12_008)}`, `${number(10_000)}+`, t.unsigned]) {
    expect(text).toContain(part);
  }
  expect(text).toContain(t.by({ operator: t.unknown, count: 1 }));
  expect(text).toContain(t.more({ count: 3 }));
  expect(text).toContain('“reason 3” · …');
  expect(text).not.toContain('“reason 4”');
  expect(html).toContain(`href="https://a.example/settings/audit/integrity"`);
  const stopped = tenantDigest({ ...digest, tenant: { ...digest.tenant, locale }, isHalted: true });
  expect(stopped.text).toContain(t.halted);
});

test('an operator and a reason with markup are shown as they are, and add no line', () => {
  const hostile = '<img src=x onerror=alert(1)>\r\nBcc: eve@example.net https://evil.example';
  const visits = [{ email: hostile, reason: hostile, visits: 1 }];
  const of = (some: TenantDigest['facts']['visits']) =>
    tenantDigest({ ...digest, facts: { ...facts, visits: some } });
  const plain = of([{ email: 'x', reason: 'x', visits: 1 }]);
  const { text, html } = of(visits);
  expect(html.match(/<[^>]*>/g)).toEqual(plain.html.match(/<[^>]*>/g));
  expect(text.split('\n')).toHaveLength(plain.text.split('\n').length);
  expect(text + html).not.toContain('evil.example');
});
