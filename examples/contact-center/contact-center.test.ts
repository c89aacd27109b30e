import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from '@playwright/test';
import type { Browser, FrameLocator, Page } from 'playwright-core';
import { afterAll, beforeAll, test, vi, expect as want } from 'vitest';
import { builtPanel } from '../../e2e/built-panel.ts';
import { openChromium } from '../../e2e/chromium.ts';
import { runCli } from '../../packages/cli/src/testing/run-cli.ts';
import { tenants } from './src/people.ts';
import { type Example, startExample } from './start.ts';

/* The story of the product, told by a host application that uses all of it. */

vi.setConfig({ testTimeout: 90_000, hookTimeout: 180_000 });

const see = expect.configure({ timeout: 20_000 });
const dataDir = mkdtempSync(join(tmpdir(), 'indelible-example-'));
const harbor = tenants[0]?.id ?? '';
let example: Example;
let browser: Browser;

beforeAll(async () => {
  chmodSync(dataDir, 0o711); // as root PostgreSQL runs under another account
  await builtPanel();
  const started = startExample({ dataDir, hostPort: 0, servicePort: 0 });
  [example, browser] = await Promise.all([started, openChromium()]);
});
afterAll(async () => {
  await browser?.close();
  await example?.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

async function signedIn(name: string): Promise<Page> {
  const context = await browser.newContext({ locale: 'en-US', timezoneId: 'UTC' });
  const page = await context.newPage();
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
  await see(detail).toContainText('Proven by your browser');

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
  await page.context().close();

  // What an earlier example on this machine has shown of the tenant is another log's.
  const state = join(dataDir, 'checkpoints');
  const verify = ['verify', harbor, '--reason', 'the end of the story', '--state', state];
  const verified = await runCli(verify, {
    env: { INDELIBLE_URL: example.serviceUrl, INDELIBLE_API_KEY: example.platformKey },
    cwd: dataDir,
  });
  want(verified).toMatchObject({ status: 0 });
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
  await page.context().close();

  const ana = await signedIn('Ana Duarte');
  const panel = await panelIn(ana);
  await panel.getByRole('link', { name: 'Operator access' }).click();
  await see(panel.getByRole('heading', { name: 'Operator access' })).toBeVisible();
  const changed = panel.getByRole('row').filter({ hasText: 'Sales' });
  await see(changed).toContainText('olga@operator.example');
  await see(changed).toContainText('Ticket 7: calls are not routed');
  await ana.context().close();
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
  await panel.getByRole('link', { name: 'Recording access' }).click();
  await see(panel.getByRole('heading', { name: 'Recording access' })).toBeVisible();
  await see(panel.getByRole('row').filter({ hasText: 'leo@harbor.example' })).toBeVisible();
  await ana.context().close();
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

test('what is of one type is not overwritten by a form of another', async () => {
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
  await page.context().close();
});
