import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { createClient } from '@indelible/client';
import { atEnd } from '@indelible/testing/at-end';
import { newFolder } from '@indelible/testing/folders';
import { expect } from '@playwright/test';
import pg from 'pg';
import type { FrameLocator, Page } from 'playwright-core';
import { afterEach, test, expect as want } from 'vitest';
import { builtPanel } from '../../e2e/built-panel.ts';
import { sharedChromium } from '../../e2e/chromium.ts';
import { visitors } from '../../e2e/visitors.ts';
import { runCli } from '../../packages/cli/src/testing/run-cli.ts';
import { signatureHeaders } from '../../packages/server/src/outbound/standard-webhooks.ts';
import { connectAudit } from './src/audit.ts';
import { people, tenants } from './src/people.ts';
import { type CallSecrets, findSecrets, listResources } from './src/store.ts';
import { startExample } from './start.ts';

/* The story of the product, told by a host application that uses all of it. */

const see = expect.configure({ timeout: 300_000 });
const dataDir = newFolder();
const [harbor = '', lumen = ''] = tenants.map(({ id }) => id);
await builtPanel();
const browser = await sharedChromium();
const example = await startExample({ dataDir, hostPort: 0, servicePort: 0 });
atEnd(() => example.stop());
/** The product's own database. */
const pool = new pg.Pool({ connectionString: example.databaseUrl });
atEnd(() => pool.end());
const guests = visitors(browser, example.serviceUrl);

afterEach(() => guests.leave());

async function signedIn(name: string): Promise<Page> {
  const page = await guests.page();
  await page.goto(example.url);
  await page.getByRole('button', { name, exact: true }).click();
  return page;
}

/** The panel in the product's own page. */
async function panelIn(page: Page): Promise<FrameLocator> {
  await page.getByRole('link', { name: 'Audit log' }).click();
  return page.frameLocator('iframe[title="Audit log"]');
}

const card = (page: Page, name: string) => page.getByRole('region', { name, exact: true });
/** Returns when the page after it has come: before that, what was typed proves nothing. */
async function save(page: Page, name: string): Promise<void> {
  const answered = page.waitForResponse((response) => response.request().method() === 'POST');
  await card(page, name).getByRole('button', { name: 'Save' }).click();
  await answered;
  await page.waitForLoadState();
}

const wait = (page: Page) => card(page, 'Support').getByLabel('Longest wait (s)');

test('a change is found with its difference, proven, put back, recorded again, and the log verifies', async () => {
  const page = await signedIn('Ana Duarte');
  await wait(page).fill('600');
  await save(page, 'Support');
  await see(wait(page)).toHaveValue('600');

  const panel = await panelIn(page);
  const change = panel.locator('tr.row').filter({ hasText: 'maxWaitSeconds' }).first();
  await see(change).toContainText('600');
  await see(change).toContainText('ana@harbor.example');
  await change.getByRole('link').click();
  const detail = panel.getByRole('region', { name: 'Event', exact: true });
  await see(detail).toContainText('Verified by your browser');

  await detail.getByRole('link', { name: 'Versions of this resource' }).click();
  await panel.getByRole('button', { name: 'Restore this version' }).last().click();
  const dialog = panel.getByRole('dialog', { name: 'Restore Support' });
  await dialog.getByRole('button', { name: 'Restore', exact: true }).click();
  await see(dialog.getByRole('status')).toContainText('Restored');

  await page.getByRole('link', { name: 'Queues' }).click();
  await see(wait(page)).toHaveValue('60');
  const again = await panelIn(page);
  const updates = again.locator('tr.row').filter({ hasText: 'Update' });
  await see(updates.filter({ hasText: 'maxWaitSeconds' })).toHaveCount(2);

  await page.getByRole('link', { name: 'Activity' }).click();
  await see(async () => {
    await page.reload();
    const told = page.getByRole('row').filter({ hasText: 'update' });
    await expect(told.filter({ hasText: 'queue Support' })).toHaveCount(2);
  }).toPass();

  // What an earlier example on this machine has shown of the tenant is another log's.
  const state = join(dataDir, 'checkpoints');
  const verify = ['verify', harbor, '--reason', 'the end of the story', '--state', state];
  const verified = await runCli(verify, {
    env: { INDELIBLE_URL: example.serviceUrl, INDELIBLE_API_KEY: example.platformKey },
  });
  want(verified).toMatchObject({ status: 0 });
  const reading = { tenantId: harbor, reason: 'the end of the story' };
  const client = createClient({ url: example.serviceUrl, key: example.platformKey, ...reading });
  want(await client.sources()).toMatchObject([{ id: 'contact-center', gaps: [] }]);
});

test('an operator gets in with a reason only, and the account sees who, why and what', async () => {
  const page = await signedIn('Olga Petrov');
  await page.getByLabel('Why do you look into it?').fill(' \u200b ');
  await page.getByRole('button', { name: 'Enter' }).click();
  await see(page.getByRole('alert')).toContainText('Say why');
  await page.getByRole('link', { name: 'Accounts' }).click();
  await page.getByLabel('Why do you look into it?').fill('Ticket 7: calls are not routed');
  await page.getByRole('button', { name: 'Enter' }).click();
  await see(page.getByRole('status')).toContainText('Ticket 7: calls are not routed');
  await card(page, 'Sales').getByLabel('Who gets the call').selectOption('round_robin');
  await save(page, 'Sales');

  const ana = await signedIn('Ana Duarte');
  const panel = await panelIn(ana);
  await panel.getByRole('link', { name: 'Operator access' }).click();
  await see(panel.getByRole('heading', { name: 'Operator access' })).toBeVisible();
  const visit = panel.getByRole('row').filter({ hasText: 'olga@operator.example' });
  await see(visit).toContainText('Ticket 7: calls are not routed');
  await visit.getByRole('button', { name: /^What was looked at/ }).click();
  const looks = panel.getByRole('list', { name: 'What was looked at' });
  await see(looks.getByText('Update · Queue · Sales')).toHaveCount(1);
});

test('listening is recorded before anything is heard, and who may not change a queue does not', async () => {
  const page = await signedIn('Leo Winter');
  await wait(page).fill('5');
  await save(page, 'Support');
  await see(page.getByRole('alert')).toContainText('not change it');
  await page.getByRole('link', { name: 'Recordings' }).click();
  await page.getByRole('button', { name: 'Listen' }).first().click();
  await see(page.getByRole('heading', { level: 1 })).toHaveText('Listening');
  await page.getByRole('button', { name: 'Sign out Leo Winter' }).click();

  const ana = await signedIn('Ana Duarte');
  await see(wait(ana)).not.toHaveValue('5');
  const panel = await panelIn(ana);
  await panel.getByRole('link', { name: 'Sensitive access' }).click();
  await see(panel.getByRole('heading', { name: 'Sensitive access' })).toBeVisible();
  await see(panel.getByRole('row').filter({ hasText: 'leo@harbor.example' })).toBeVisible();
});

test('calls that the service did not sign, and forms of other pages, are refused', async () => {
  const forged = await fetch(`${example.url}/hooks/restore/${harbor}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'webhook-id': 'rst_1' },
    body: JSON.stringify({ id: 'rst_1', to: 'before' }),
  });
  want(forged.status).toBe(401);
  const foreign = await fetch(`${example.url}/sign-in`, {
    method: 'POST',
    headers: { origin: 'https://elsewhere.example' },
    body: new URLSearchParams({ person: 'anybody' }),
  });
  want(foreign.status).toBe(403);
});

/** What the service signs its calls to the product with, as the product keeps it. */
async function secretsOf(tenantId: string): Promise<CallSecrets> {
  const secrets = await findSecrets(pool, tenantId);
  if (!secrets) throw new Error('the tenant is not connected');
  return secrets;
}

/** A call as the service makes it: `ageSeconds` old, with this secret. */
function signedCall(path: string, body: unknown, secret: string, ageSeconds = 0) {
  const text = JSON.stringify(body);
  const nowMs = Date.now() - ageSeconds * 1_000;
  const signature = signatureHeaders({ id: 'msg_1', body: text }, [secret], nowMs);
  const headers = { 'content-type': 'application/json', ...signature };
  return fetch(`${example.url}${path}`, { method: 'POST', headers, body: text });
}

const told = (tenantId: string) => {
  return { type: 'audit.events.recorded', timestamp: '', data: { tenantId, events: [] } };
};

test('messages that are old, or of another tenant, are refused; one as large as they come is taken', async () => {
  const { webhook } = await secretsOf(harbor);
  const path = `/hooks/events/${harbor}`;
  want((await signedCall(path, told(harbor), webhook)).status).toBe(204);
  want((await signedCall(path, told(harbor), webhook, 301)).status).toBe(401);
  want((await signedCall(path, told(lumen), webhook)).status).toBe(401);
  want((await signedCall(`/hooks/events/${lumen}`, told(lumen), webhook)).status).toBe(401);
  const large = { ...told(harbor), padding: 'x'.repeat(4.5 * 2 ** 20) };
  want((await signedCall(path, large, webhook)).status).toBe(204);
});

test('calls for no tenant, of another kind, or beyond any size are refused as the caller’s fault', async () => {
  const post = async (path: string, type: string, body: string) => {
    const init = { method: 'POST', headers: { 'content-type': type }, body };
    return (await fetch(`${example.url}${path}`, init)).status;
  };
  for (const nobody of ['nope', '7a2e3d4c-5b6a-4f79-9e88-c0ffee000009']) {
    want(await post(`/hooks/restore/${nobody}`, 'application/json', '{}')).toBe(401);
    want(await post(`/hooks/events/${nobody}`, 'application/json', '{}')).toBe(401);
  }
  want(await post(`/hooks/events/${harbor}`, 'text/plain', '{}')).toBe(415);
  const huge = 'x'.repeat(6 * 2 ** 20);
  want(await post(`/hooks/events/${harbor}`, 'application/json', huge)).toBe(413);
});

test('a state is put back only over a resource of its type, whole, of our own recording, for who may', async () => {
  const { restore } = await secretsOf(harbor);
  const [ivr] = await listResources(pool, harbor, 'ivr');
  const { rows } = await pool.query('SELECT key_id AS id FROM audit_credentials');
  const state = { maxWaitSeconds: 20, strategy: 'round_robin', overflowTo: '' };
  const call = (changes: object) => {
    const asked = {
      type: 'audit.restore.requested',
      id: `rst_${randomUUID()}`,
      tenantId: harbor,
      eventId: 'evt_audit_1',
      resource: { type: 'queue', id: ivr?.id, name: 'Main menu' },
      to: 'before',
      requestedBy: { id: people[0]?.id, email: null, role: 'admin' },
      recordedBy: { kind: 'api_key', id: rows[0].id },
      requestedAt: '',
      before: state,
      after: null,
      ...changes,
    };
    return signedCall(`/hooks/restore/${harbor}`, asked, restore).then((answer) => answer.json());
  };
  const other = { type: 'queue', id: randomUUID(), name: 'Restored' };
  const [, leo, mia] = people;
  for (const [changes, why] of [
    [{}, 'of another type'],
    [{ resource: { ...other, type: 'dashboard' } }, 'nothing that can be put back'],
    [{ resource: other, to: 'after' }, 'nothing that can be put back'],
    [{ resource: other, before: { ...state, maxWaitSeconds: 4 } }, 'Longest wait'],
    [{ resource: other, recordedBy: { kind: 'api_key', id: randomUUID() } }, 'not recorded by us'],
    ...[leo, mia, { id: randomUUID() }].map(
      (person) => [{ resource: other, requestedBy: { ...person } }, 'may not'] as const,
    ),
  ] as const) {
    want(await call(changes)).toEqual({ status: 'refused', reason: want.stringContaining(why) });
  }
  want(await listResources(pool, harbor, 'ivr')).toEqual([ivr]);
  const id = `rst_${randomUUID()}`;
  want(await call({ id, resource: other })).toEqual({ status: 'applied' });
  // The same call again is answered as the first, and does nothing.
  want(await call({ id, resource: { ...other, name: 'Again' } })).toEqual({ status: 'applied' });
  const names = (await listResources(pool, harbor, 'queue')).map(({ name }) => name);
  want(names.filter((name) => /Restored|Again/.test(name))).toEqual(['Restored']);
});

test('connected anew, from another address or after a start that was cut off, there is one webhook and it works', async () => {
  const auditService = { url: example.serviceUrl, platformKey: example.platformKey };
  const reason = 'A test of the example';
  const client = createClient({
    url: auditService.url,
    key: auditService.platformKey,
    tenantId: harbor,
    reason,
  });
  const connect = async (ownUrl: string) =>
    (await connectAudit(pool, { ...auditService, ownUrl })).stop();
  await connect(`${example.url}/elsewhere`);
  // As if the start had ended before it kept what it was given.
  await pool.query('DELETE FROM audit_connections');
  await connect(example.url);
  const found: [url: string, status: number | null][] = [];
  for await (const { id, url } of client.webhooks.list()) {
    found.push([url, (await client.webhooks.test(id)).status]);
  }
  want(found).toEqual([[`${example.url}/hooks/events/${harbor}`, 204]]);
  want(await secretsOf(harbor)).toMatchObject({ restore: want.stringMatching(/^whsec_./) });
});

test('a reason that the log would not take lets no operator in, and a field that comes twice is no failure', async () => {
  const page = await signedIn('Olga Petrov');
  const enter = (form: string) =>
    page.request.post(`${example.url}/operator`, {
      headers: { origin: example.url, 'content-type': 'application/x-www-form-urlencoded' },
      data: `tenant=${harbor}&${form}`,
      maxRedirects: 0,
    });
  for (const reason of ['x'.repeat(1_001), 'Ticket%0A7', 'Ticket%017']) {
    want((await enter(`reason=${reason}`)).status()).toBe(400);
  }
  want((await enter('reason=first&reason=Ticket+8')).status()).toBe(303);
});

test('no page is wider than a phone', async () => {
  for (const [name, paths] of [
    ['Olga Petrov', ['/operator']],
    ['Ana Duarte', ['/configure/queue', '/configure/ivr', '/recordings', '/activity', '/audit']],
  ] as const) {
    const page = await signedIn(name);
    await page.setViewportSize({ width: 360, height: 780 });
    for (const path of ['/sign-in', ...paths]) {
      await page.goto(`${example.url}${path}`);
      want(await page.evaluate('document.documentElement.scrollWidth'), path).toBe(360);
    }
  }
});

test('while the audit log is away the product works, and says so in place of the panel', async () => {
  const { host, platformKey, serviceUrl } = example;
  await host.connect({ url: 'http://127.0.0.1:1', platformKey });
  const page = await signedIn('Ana Duarte');
  await wait(page).fill('90');
  await save(page, 'Support');
  await see(wait(page)).toHaveValue('90');
  await page.getByRole('link', { name: 'Audit log' }).click();
  await see(page.getByRole('alert')).toContainText('cannot be reached');
  await host.connect({ url: serviceUrl, platformKey });
  const panel = await panelIn(page);
  await see(panel.locator('tr.row').filter({ hasText: 'maxWaitSeconds' }).first()).toContainText(
    '90',
  );
});

test('a value of one type is not overwritten by a form of another', async () => {
  const page = await signedIn('Ana Duarte');
  await page.getByRole('link', { name: 'IVRs' }).click();
  const greeting = card(page, 'Main menu').getByLabel('Greeting');
  const before = await greeting.inputValue();
  await page.evaluate(`for (const each of document.forms) {
    each.setAttribute('action', each.action.replace('/ivr/', '/user_role/'));
  }`);
  await save(page, 'Main menu');
  await see(page.getByRole('alert')).toContainText('It is gone');
  await page.getByRole('link', { name: 'IVRs' }).click();
  await see(greeting).toHaveValue(before);
});
