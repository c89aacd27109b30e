import { admin, Browser } from '@indelible/testing/browser';
import { askForJob, exportUntil, hasEnded } from '@indelible/testing/exports';
import { keyOf } from '@indelible/testing/restore-setup';
import { type CallOptions, testService } from '@indelible/testing/service';
import { startSmtpServer } from '@indelible/testing/smtp-server';
import { jwtSecret, token } from '@indelible/testing/token';
import { expect, test } from 'vitest';

const smtp = await startSmtpServer();
const env = { AUTH_JWT_SECRET: jwtSecret, SMTP_URL: smtp.url };
const service = await testService({
  ...env,
  PUBLIC_URL: 'https://audit.example.com',
  METRICS_TOKEN: 'a-token',
});
service.app.jobs.start();

const jwtOf = (tenantId: string, email: string) =>
  token({ email, role: 'admin', tenantId }, service.clock.now);

const mailsTo = (address: string) => smtp.received.filter(({ to }) => to.includes(address));

test('the requester is told when the file is ready, in the language of the tenant, with a link to sign in', async () => {
  const { id } = await service.tenant();
  const body = { locale: 'pt-BR', timeZone: 'America/Sao_Paulo' };
  await service.call({ method: 'PUT', url: `/api/tenants/${id}`, body });
  const key = await jwtOf(id, 'ana@example.com');
  const job = await askForJob(service, key, { filters: { action: '!delete' } });
  const told = await exportUntil(service, key, job.id, ({ notified }) => notified.length > 0);
  expect(told.notified).toEqual(['ana@example.com']);
  const [mail, ...more] = mailsTo('ana@example.com');
  expect(more).toEqual([]);
  expect(mail?.parsed.subject).toBe('A exportação do registro de auditoria está pronta');
  expect(mail?.parsed.text).toContain(`https://audit.example.com/settings/audit/exports#${job.id}`);
  expect(mail?.parsed.text).toContain(told.sha256);
  expect(mail?.parsed.text).toContain('action: ≠ delete');
  expect(mail?.raw).not.toMatch(/signature=/);
});

test('the tenant is told where the requester has no address, and the export says so without any', async () => {
  const { id, key } = await service.tenant();
  const lonely = await askForJob(service, key);
  const untold = await exportUntil(service, key, lonely.id, ({ notice }) => notice !== null);
  expect(untold).toMatchObject({ status: 'ready', notified: [] });
  expect(untold.notice).toMatch(/^no e-mail was sent/);
  const notifyEmails = ['audit@example.com', 'it@example.com'];
  await service.call({ method: 'PUT', url: `/api/tenants/${id}`, body: { notifyEmails } });
  const job = await askForJob(service, key);
  await exportUntil(service, key, job.id, ({ notified }) => notified.length === 2);
  expect(mailsTo('it@example.com')).toHaveLength(1);
});

test('where the address of the requester takes no mail, the tenant is told', async () => {
  const { id } = await service.tenant();
  const notifyEmails = ['desk@example.com'];
  await service.call({ method: 'PUT', url: `/api/tenants/${id}`, body: { notifyEmails } });
  const key = await jwtOf(id, '<ana>@example.com');
  const job = await askForJob(service, key);
  const told = await exportUntil(service, key, job.id, ({ notified }) => notified.length > 0);
  expect(told.notified).toEqual(notifyEmails);
  expect(mailsTo('desk@example.com')).toHaveLength(1);
});

test('the address of a link that the tenant made itself gets no mail before it has confirmed', async () => {
  const { id } = await service.tenant();
  const notifyEmails = ['office@example.com'];
  await service.call({ method: 'PUT', url: `/api/tenants/${id}`, body: { notifyEmails } });
  const key = await keyOf(service, id, ['viewer-links:write', 'events:read', 'exports:write']);
  const link = { tenantId: id, actor: admin('stranger@example.com') };
  const made = await service.call({ method: 'POST', url: '/api/viewer-links', key, body: link });
  const browser = new Browser(service.app);
  const origin = 'https://audit.example.com';
  await browser.signIn({ token: new URL(made.body.url).hash.slice(1) }, { origin });
  const session = {
    call: ({ headers, ...options }: CallOptions) =>
      browser.call({ ...options, key: null, headers: { ...headers, origin } }),
  };
  const job = await askForJob(session, '');
  await exportUntil(session, '', job.id, ({ notified }) => notified.length > 0);
  expect(mailsTo('office@example.com')).toHaveLength(1);
  await expect.poll(() => mailsTo('stranger@example.com').length).toBe(1);
  expect(mailsTo('stranger@example.com')[0]?.parsed.text).toContain('/confirm-mail/');
});

test('a mail server that is down fails no export, and is tried again', async () => {
  const { id } = await service.tenant();
  const key = await jwtOf(id, 'eva@example.com');
  await smtp.close();
  const job = await askForJob(service, key);
  const ready = await exportUntil(service, key, job.id, hasEnded);
  expect(ready).toMatchObject({ status: 'ready', notified: [], notice: null });
  await attemptsAtMail(id);
  await smtp.reopen();
  await retryMail(id);
  await exportUntil(service, key, job.id, ({ notified }) => notified.length > 0);
  expect(mailsTo('eva@example.com')).toHaveLength(1);
});

test('a mail that is sent again, because its process died before it noted that, has the same Message-ID', async () => {
  const { id } = await service.tenant();
  const key = await jwtOf(id, 'bo@example.com');
  await service.owner.query(
    `ALTER TABLE exports ADD CONSTRAINT unnoted CHECK (notified IS NULL OR tenant_id <> '${id}')`,
  );
  const job = await askForJob(service, key);
  await attemptsAtMail(id);
  await service.owner.query('ALTER TABLE exports DROP CONSTRAINT unnoted');
  await retryMail(id);
  await exportUntil(service, key, job.id, ({ notified }) => notified.length > 0);
  const ids = mailsTo('bo@example.com').map(({ parsed }) => parsed.messageId);
  expect(ids).toHaveLength(2);
  expect(ids[1]).toBe(ids[0]);
});

test('a mail whose process died in every attempt is given up, and the export says so', async () => {
  const { id } = await service.tenant();
  const key = await jwtOf(id, 'cy@example.com');
  await smtp.close();
  const job = await askForJob(service, key);
  await attemptsAtMail(id);
  await smtp.reopen();
  await retryMail(id, 'attempts = 13');
  const told = await exportUntil(service, key, job.id, ({ notice }) => notice !== null);
  expect(told).toMatchObject({ notified: [], notice: /could not be sent/ });
  expect(mailsTo('cy@example.com')).toEqual([]);
});

async function retryMail(tenantId: string, change = 'attempts = attempts'): Promise<void> {
  const due = `UPDATE jobs SET due_at = 'epoch', ${change} WHERE tenant_id = $1`;
  await service.owner.query(due, [tenantId]);
  service.app.jobs.wake();
}

/** Waits until a mail of this tenant was tried in vain. */
async function attemptsAtMail(tenantId: string): Promise<void> {
  for (;;) {
    const { rows } = await service.owner.query(
      `SELECT FROM jobs WHERE queue = 'export-mail' AND tenant_id = $1 AND lease IS NULL AND attempts > 0`,
      [tenantId],
    );
    if (rows.length > 0) return;
  }
}
