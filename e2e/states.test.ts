import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { uuidFromEventId } from '@indelible/protocol';
import { serviceOn } from '@indelible/testing/service';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { openPanel, operator, type Visit } from './open-panel.ts';
import { listedIds, rows, see } from './panel-page.ts';
import { slowDatabase } from './slow-database.ts';

/* What the panel says while something is made, is late, or fails. */

const panel = await openPanel();
const tenantId = await panel.newTenant('Aurora Travel');

const enter = (visit: Partial<Visit> = {}): Promise<Page> => panel.enter({ tenantId, ...visit });

test('an offline panel shows nothing old as new, says so beside choices and counts, and offers to retry each', async () => {
  panel.allow(/ERR_INTERNET_DISCONNECTED/);
  await panel.record(tenantId, [{}]);
  const page = await enter({ path: '/settings/audit/events?last=90d' });
  await listedIds(page);
  const offline = (is: boolean) => page.context().setOffline(is);
  const again = page.getByRole('button', { name: 'Try again' });
  const action = page.getByRole('button', { name: 'Action', exact: true });
  await action.click();
  const picker = page.getByRole('dialog', { name: 'Action' });
  await see(picker.getByRole('option').first()).toBeVisible();
  await page.keyboard.press('Escape');
  await offline(true);
  await page.getByRole('button', { name: 'Operator only' }).click();
  await see(page.getByRole('alert')).toContainText('did not answer');
  await see(rows(page)).toHaveCount(0);
  await action.click();
  await see(picker.getByRole('alert')).toContainText('did not answer');
  await see(picker.getByText('No values in this time range')).toHaveCount(0);
  await offline(false);
  await picker.getByRole('button', { name: 'Try again' }).click();
  await see(picker.getByRole('alert')).toHaveCount(0);
  await page.keyboard.press('Escape');
  await again.click();
  await see(page.getByRole('alert')).toHaveCount(0);

  await page.goto(`${panel.url}/settings/audit/exports?last=90d`);
  await see(page.getByText(/^\d+ rows?$/)).toBeVisible();
  await offline(true);
  await page.getByRole('button', { name: 'Operator only' }).click();
  await see(page.getByRole('alert')).toContainText('did not answer');
  await offline(false);
  await again.click();
  await see(page.getByText(/^\d+ rows?$/)).toBeVisible();
  await page.getByRole('button', { name: 'Download now' }).click();
  await see(page.getByText(/^Downloaded: audit-log\.csv, [\d.]+ (byte|kB)/)).toBeVisible();
  const sent = page.getByRole('listitem').filter({ hasText: 'Operator access: Yes' });
  await see(sent).toContainText('Sent directly');
  await see(sent.getByRole('link')).toHaveCount(0);
});

test('while the service is away the page says so and keeps the filters; once it is back, so are the events', async () => {
  panel.allow(
    /ERR_CONNECTION_REFUSED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET|ERR_SOCKET_NOT_CONNECTED/,
  );
  const page = await enter({ path: '/settings/audit/events?action=update' });
  await listedIds(page);
  const back = await panel.goAway();
  await page.getByRole('button', { name: 'Refresh' }).click();
  await see(page.getByRole('alert')).toContainText('The service did not answer. Try again.');
  await see(page.getByRole('button', { name: 'Action Update' })).toBeVisible();
  await back();
  await page.getByRole('button', { name: 'Try again' }).click();
  await listedIds(page);
  expect(page.url()).toContain('action=update');
});

test('operators whose number is not known are not counted for ever', async () => {
  panel.allow(/^500 /);
  const page = await enter({ person: operator, reason: 'Case 4711' });
  const counts = /audit-logs\/stats/;
  await page.route(counts, (route) => route.fulfill({ status: 500 }));
  await page.getByRole('link', { name: 'Operator access' }).click();
  await see(page.getByRole('alert')).toContainText('The service is busy');
  await see(page.getByText('…', { exact: true })).toHaveCount(0);
});

test('an export that broke on its way says so, and is made anew by its own button', async () => {
  panel.allow(/^500 /);
  const id = await panel.newTenant('Breaking');
  const [broken = ''] = await panel.record(id, [{}]);
  const receivedAt = (value: string) =>
    panel.service.owner.query(
      'UPDATE audit_events SET received_at = $3 WHERE tenant_id = $1 AND id = $2',
      [...[id, uuidFromEventId(broken), value]],
    );
  // NDJSON cannot say that year.
  await receivedAt('20000-01-01');
  const page = await enter({ tenantId: id, path: '/settings/audit/exports?last=all' });
  await page.getByText(/^NDJSON/).click();
  await page.getByRole('button', { name: 'Download now' }).click();
  await see(page.getByRole('alert')).toContainText('The service is busy');
  const jobs = page.getByRole('main').getByRole('listitem');
  await page.reload();
  await see(jobs).toHaveCount(1);
  await see(jobs.first()).toContainText('Failed');
  await see(jobs.first()).toContainText('An unexpected error stopped the export');
  await receivedAt(new Date().toISOString());
  await jobs.first().getByRole('button', { name: 'Try again' }).click();
  await see(jobs).toHaveCount(2);
  await see(jobs.first()).toContainText('Queued');
  await see(jobs.last()).toContainText('Failed');
});

test('a page whose program does not load says so and can be tried again; one without an answer says that too', async () => {
  panel.allow(/ERR_FAILED|Failed to fetch dynamically imported module/);
  await panel.record(tenantId, [{}]);
  const page = await enter({ path: '/settings/audit/events?action=update' });
  await listedIds(page);
  const program = '**/assets/IntegrityPage-*.js';
  const late = Promise.withResolvers<void>();
  await page.route(program, (route) => late.promise.then(() => route.abort()));
  await page.getByRole('link', { name: 'Integrity' }).click();
  // Under the address of the next page the former one does not stay.
  await see(page.getByText('Loading', { exact: true })).toBeAttached();
  await see(rows(page).first()).toBeHidden();
  await see(page).toHaveTitle(/^Integrity/);
  late.resolve();
  const again = page.getByRole('button', { name: 'Try again' });
  await see(again).toBeVisible();
  await see(page.getByRole('link', { name: 'Export' })).toBeVisible();
  await page.unroute(program);
  await again.click();
  await see(page.getByRole('heading', { name: 'Latest checkpoint' })).toBeVisible();

  // A service that takes the request and never answers.
  let held = 0;
  await page.route('**/api/audit-logs/searches', () => {
    held += 1;
  });
  await page.getByRole('link', { name: 'Evidence' }).click();
  await see(page.getByText('The service has not answered yet.')).toBeVisible();
  expect(held).toBe(1);
  await page.unrouteAll({ behavior: 'ignoreErrors' });
});

test('a list of more exports than a page holds goes on to the very first one', async () => {
  const id = await panel.newTenant('Busy');
  const headers = { 'x-tenant-id': id, 'x-access-reason': 'fifty%20exports' };
  const body = { filters: {}, format: 'csv' };
  const call = { method: 'POST', url: '/api/audit-logs/exports', headers, body } as const;
  // No more at a time than are sent at once: those that wait too long would become jobs.
  for (let made = 0; made < 51; made += 3) {
    const answers = await Promise.all([1, 2, 3].map(() => panel.service.call(call)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  }
  const page = await panel.enter({ tenantId: id, path: '/settings/audit/exports' });
  const listed = page.getByRole('main').getByRole('listitem');
  await see(listed).toHaveCount(50);
  await page.getByRole('button', { name: 'Older' }).click();
  await see(listed).toHaveCount(51);
  await see(page.getByRole('button', { name: 'Older' })).toHaveCount(0);
  // A mail names one of them.
  const { data } = await page.evaluate<{ data: { id: string }[] }>(
    `fetch('/api/audit-logs/exports').then((answer) => answer.json())`,
  );
  await page.goto(`${panel.url}/settings/audit/exports#${data[44]?.id}`);
  await see(listed.nth(44)).toHaveAttribute('aria-current', 'true');
  await see(listed.nth(44)).toBeInViewport();
});

test('an export of more rows than are sent at once tells how far it is while it is made, and is whole', async () => {
  const count = 10_400;
  const id = await panel.newTenant('Large');
  await panel.record(
    id,
    Array.from({ length: count }, () => ({})),
  );
  // The worker is a process of its own, far from its database: what it does can be watched.
  const database = await slowDatabase(panel.service.servingUrl, 300);
  const env = { DATA_DIR: panel.service.dataDir };
  const worker = await serviceOn(database.url, panel.service.clock, env);

  const page = await panel.enter({ tenantId: id, path: '/settings/audit/exports?last=all' });
  await page.getByRole('button', { name: 'Prepare the file' }).click();
  const job = page.getByRole('main').getByRole('listitem').first();
  await see(job).toContainText('Queued');
  worker.app.jobs.start();
  const progress = job.getByText(/^[\d,]+ of 10,4\d\d rows$/);
  const doneRows = async () =>
    Number((await progress.textContent())?.split(' ')[0]?.replace(',', ''));
  await see(progress).not.toHaveText(/^0 of/);
  const first = await doneRows();
  expect(first).toBeLessThan(count);
  await expect.poll(doneRows).toBeGreaterThan(first);
  await see(job.getByRole('progressbar', { name: 'Running' })).toBeVisible();
  database.hurry();
  await see(job).toContainText('Ready');
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    job.getByRole('link', { name: 'Download now' }).click(),
  ]);
  const file = await readFile(await download.path());
  await see(job).toContainText(createHash('sha256').update(file).digest('hex').slice(0, 16));
  expect(file.toString().split('\r\n').length).toBeGreaterThan(count);

  await worker.app.http.close();
  await worker.db.close();
  await database.close();
});
