import { randomUUID } from 'node:crypto';
import type { EventInput } from '@indelible/client';
import { eventOf } from '@indelible/testing/service';
import {
  type ReceivedCall,
  type Receiver,
  webhookReceiver,
} from '@indelible/testing/webhook-receiver';
import type { Page } from 'playwright-core';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest';
import { openPanel, operator } from './open-panel.ts';
import { detail, rows, see } from './panel-page.ts';

/* Webhooks of a tenant, managed in the panel, delivered to a real receiver on loopback. */

let receiver: Receiver;
let tenantId: string;
let page: Page;

const panel = await openPanel({ WEBHOOK_ALLOW_PRIVATE: 'true' });
panel.service.app.webhooks.start();
afterAll(() => panel.service.app.webhooks.pause());
beforeEach(async () => {
  receiver = await webhookReceiver();
  tenantId = randomUUID();
  await panel.client.tenants.put(tenantId, { name: 'Aurora Travel', plan: 'Enterprise' });
  page = await panel.enter({ tenantId, path: '/settings/audit/webhooks' });
});
afterEach(() => receiver.close());

/** Records an event; returns its id and its sequence. */
async function record(): Promise<{ id: string; sequence: number }> {
  const [result] = await panel.client.recordBatch([{ tenantId, ...eventOf() } as EventInput]);
  return { id: result?.id ?? '', sequence: result?.sequence ?? -1 };
}

/**
 * The same, on the page of a webhook, which looks by itself only while something is under way.
 */
async function recordAndLook(): Promise<{ id: string; sequence: number }> {
  const recorded = await record();
  await button('Refresh').click();
  return recorded;
}

const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true });
const dialog = (name: string | RegExp) => page.getByRole('dialog', { name });
const condition = () => page.locator('h1 + .badge');
const deliveries = () => page.getByRole('region', { name: 'Deliveries' }).getByRole('listitem');

/** Adds a webhook to the receiver as an admin does; returns the secret that is shown once. */
async function addWebhook(name: string): Promise<string> {
  await button('Add a webhook').click();
  const form = dialog('New webhook');
  await form.getByLabel('URL').fill(receiver.url);
  await form.getByLabel('Name').fill(name);
  await form.getByRole('button', { name: 'Add a header' }).click();
  await form.getByLabel('Header name').fill('X-Api-Key');
  await form.getByLabel('Header value').fill('a key of theirs');
  await form.getByRole('button', { name: 'Create' }).click();
  const secret = dialog('Signing secret').locator('code');
  await see(secret).toHaveText(/^whsec_/);
  const text = (await secret.textContent()) ?? '';
  await page.keyboard.press('Escape'); // nothing is lost by that
  await see(secret).toBeVisible();
  await button('I have stored it').click();
  await see(page.getByRole('heading', { level: 1, name })).toBeVisible();
  return text;
}

/** Verifies a call like a receiver. Throws for a wrong, missing or old signature. */
const verified = (secret: string, { raw, headers }: ReceivedCall) =>
  new Webhook(secret).verify(raw, headers) as { type: string; data: { events?: { id: string }[] } };

test('an admin adds a webhook and tests it; what is recorded then arrives, signed with the secret that was shown once', async () => {
  await see(page.getByRole('heading', { name: 'No webhook yet' })).toBeVisible();
  const secret = await addWebhook('SIEM');
  receiver.answers = [{ code: 200, text: 'thank you' }];
  await button('Send a test').click();
  await see(page.getByText('The receiver answered 200: the webhook works')).toBeVisible();
  await see(page.getByText('thank you').first()).toBeVisible();
  const [tested] = receiver.calls;
  expect(tested?.headers['x-api-key']).toBe('a key of theirs');
  expect(verified(secret, tested ?? none).type).toBe('audit.webhook.test');

  const { id } = await recordAndLook();
  await see(deliveries().filter({ hasText: '1 event' })).toContainText('Delivered');
  await see(condition()).toHaveText('Up to date');
  const message = verified(secret, receiver.calls[1] ?? none);
  expect(message.type).toBe('audit.events.recorded');
  expect(message.data.events?.map((event) => event.id)).toEqual([id]);
  expect(() => verified('whsec_AAAA', receiver.calls[1] ?? none)).toThrow();
  // Not on the page, not in any answer to it.
  expect(await page.content()).not.toContain(secret);
});

const none: ReceivedCall = { id: '', method: '', path: '', headers: {}, raw: '', body: null };

test('while the receiver fails the page says so, and when it tries again; told to try, it delivers', async () => {
  await addWebhook('SIEM');
  receiver.answers = [{ code: 500, text: 'the disk is full' }];
  const { id } = await recordAndLook();
  await see(condition()).toHaveText('Failing');
  await see(page.getByText('The current message has failed')).toContainText('Next attempt');
  const failed = deliveries().filter({ hasText: 'Failed' }).first();
  await failed.locator('summary').click();
  await see(failed).toContainText('the disk is full');
  await page.getByRole('combobox', { name: 'Language' }).selectOption('Deutsch');
  await see(page.getByText('Der Empfänger hat mit 500 geantwortet').first()).toBeVisible();
  await page.getByRole('combobox', { name: 'Sprache' }).selectOption('English');
  await page.getByRole('link', { name: 'Webhooks', exact: true }).first().click();
  await see(page.getByRole('listitem').filter({ hasText: receiver.url })).toContainText('Failing');
  await page.getByRole('link', { name: 'SIEM' }).click();

  receiver.answers = [{ code: 204 }];
  await button('Try now').click();
  await see(condition()).toHaveText('Up to date');
  expect(receiver.events().map((event) => event.id)).toContain(id);
  const attempts = receiver.calls.filter(({ raw }) => raw.includes(id));
  expect(attempts.length).toBeGreaterThan(1);
  expect(new Set(attempts.map((call) => call.id)).size).toBe(1);

  await button('Pause').click();
  await see(condition()).toHaveText('Paused');
  const { id: meanwhile } = await record();
  await button('Resume').click();
  await see(condition()).toHaveText('Up to date');
  expect(receiver.events().map((event) => event.id)).toContain(meanwhile);
});

test('a message that the receiver never accepts is skipped with a reason, and the next one arrives', async () => {
  await addWebhook('SIEM');
  receiver.answers = [{ code: 400 }];
  const { id: refused } = await recordAndLook();
  await see(condition()).toHaveText('Failing');
  receiver.answers = [{ code: 204 }];
  receiver.calls.length = 0;
  await button('Skip').click();
  const skip = dialog('Pass events');
  await see(skip.getByRole('button', { name: 'Skip these events' })).toBeDisabled();
  await skip.getByLabel('Reason').fill('the receiver cannot store it');
  await skip.getByRole('button', { name: 'Skip these events' }).click();
  await see(condition()).toHaveText('Up to date');
  const arrived = receiver.events();
  expect(arrived.map(({ action }) => action)).toContain('skip');
  expect(arrived.map(({ id }) => id)).not.toContain(refused);
});

test('from an event an admin has everything since sent again, after reading what that means', async () => {
  await record();
  await addWebhook('SIEM');
  const first = await record();
  const second = await record();
  await expect.poll(() => receiver.events().length).toBe(2);

  await page.goto(`${panel.url}/settings/audit/events/${first.id}`);
  await detail(page).getByRole('link', { name: 'Replay from here to a webhook' }).click();
  await see(page.getByRole('note')).toContainText(`from position ${first.sequence} on`);
  await page.getByRole('link', { name: 'SIEM' }).click();
  const replay = dialog('Replay from a position in the log');
  await see(replay.getByLabel('From position')).toHaveValue(String(first.sequence));
  await see(replay.getByRole('status')).toContainText('of the log again');
  await replay.getByRole('button', { name: 'Start the replay' }).click();
  await see(replay).toHaveCount(0);
  const again = () => receiver.events().map((event) => event.id);
  // After these two comes the record that they were asked for again.
  await expect.poll(() => again().slice(2, 4)).toEqual([first.id, second.id]);
});

test('a new secret signs beside the former one, what is wrong is said at its field, and deleting asks first', async () => {
  panel.allow(/^422 /);
  const former = await addWebhook('SIEM');
  await button('New secret').click();
  await button('Create a new secret').click();
  const shown = dialog('Signing secret');
  const secret = (await shown.locator('code').textContent()) ?? '';
  await see(shown).toContainText('also signs messages until');
  await button('I have stored it').click();
  await see(page.getByText('The previous secret also signs until')).toBeVisible();
  await recordAndLook();
  await see(deliveries()).not.toHaveCount(0);
  for (const each of [former, secret]) verified(each, receiver.calls[0] ?? none);

  await button('Edit').click();
  const form = dialog('Change the webhook');
  await form.getByLabel('Format').selectOption('Splunk HTTP Event Collector');
  await form.getByLabel('Index').fill('Not An Index');
  await form.getByRole('button', { name: 'Save' }).click();
  await see(form.getByLabel('HEC token')).toHaveAccessibleDescription(/is not sent to it/);
  await see(form.getByLabel('Index')).toHaveAccessibleDescription(/^Use only lower-case letters/);
  await form.getByRole('button', { name: 'Remove the header x-api-key' }).click();
  await form.getByLabel('HEC token').fill(randomUUID());
  await form.getByLabel('Index').fill('audit');
  await form.getByRole('button', { name: 'Action', exact: true }).click();
  await page.getByRole('option', { name: /^Update/ }).click();
  await page.keyboard.press('Escape');
  await form.getByRole('button', { name: 'Save' }).click();
  await see(form).toHaveCount(0);
  await see(page.getByText('Action: Update')).toBeVisible();
  await see(page.getByText('x-api-key')).toHaveCount(0);
  await see(page.getByText('audit', { exact: true })).toBeVisible();

  await button('Delete').click();
  const ask = dialog('Delete SIEM?');
  await ask.getByRole('button', { name: 'Cancel' }).click();
  await button('Delete').click();
  await button('Delete the webhook').click();
  await see(page.getByRole('heading', { name: 'No webhook yet' })).toBeVisible();
});

test('an operator sees the webhooks under the reason they declared, and the tenant sees that they did', async () => {
  await addWebhook('SIEM');
  const reason = 'Ticket 4711: no events in the SIEM';
  const path = '/settings/audit/webhooks';
  const visit = await panel.enter({ tenantId, person: operator, reason, path });
  await see(visit.getByRole('region', { name: 'Operator' })).toContainText(reason);
  await visit.getByRole('link', { name: 'SIEM' }).click();
  await visit.getByRole('button', { name: 'Pause' }).click();
  await see(visit.locator('h1 + .badge')).toHaveText('Paused');

  await page.getByRole('link', { name: 'Operator access' }).click();
  const paused = rows(page).filter({ hasText: /pause/i });
  await see(paused).toContainText(reason);
  await see(paused).toContainText(operator.email);
});

test('a form that is half typed when the session ends is there again after the next sign-in, without its secrets', async () => {
  panel.allow(/^401 /);
  await button('Add a webhook').click();
  const form = () => dialog('New webhook');
  await form().getByLabel('Format').selectOption('Splunk HTTP Event Collector');
  await form().getByLabel('URL').fill('https://splunk.example.com');
  await form().getByLabel('HEC token').fill('a token of theirs');
  panel.later(31 * 60_000);
  await form().getByRole('button', { name: 'Create' }).click();
  await see(page.getByRole('heading', { name: 'Your session has ended' })).toBeVisible();
  expect(await page.evaluate('JSON.stringify(localStorage)')).not.toContain('a token of theirs');
  page = await panel.enter({ tenantId, context: page.context() });
  await see(form().getByLabel('URL')).toHaveValue('https://splunk.example.com');
  await see(form().getByLabel('Format')).toHaveValue('splunk_hec');
  await see(form().getByLabel('HEC token')).toHaveValue('');
  await form().getByRole('button', { name: 'Cancel' }).click();
  await button('Add a webhook').click();
  await see(form().getByLabel('URL')).toHaveValue('');
});
