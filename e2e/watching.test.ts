import { randomUUID } from 'node:crypto';
import { eventOf } from '@indelible/testing/service';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { dayMs, demoIn, demoTenant, idsOf } from './demo-history.ts';
import { openPanel } from './open-panel.ts';
import { choose, detail, see, seeListed } from './panel-page.ts';

/* What an admin keeps an eye on: views, alert rules and their alerts. */

const { tenantId } = demoTenant;
const panel = await openPanel();
const demo = await demoIn(panel);

const enter = (path?: string): Promise<Page> =>
  panel.enter({ tenantId, ...(path === undefined ? {} : { path }) });

test('a search kept as a view has its own link, also for others, and goes on with the time', async () => {
  const deletions = () => demo.lastMonth.filter(({ action }) => action === 'delete').reverse();
  const page = await enter('/settings/audit/events?action=delete');
  await seeListed(page, idsOf(deletions()).slice(0, 50));
  await page.getByRole('button', { name: 'Save as a view' }).click();
  await page.getByLabel('Name of the view').fill('Everything deleted');
  await page.getByLabel('For everybody who reads this log').check();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  const sidebar = page.getByRole('navigation', { name: 'Audit pages' });
  const link = sidebar.getByRole('link', { name: 'Everything deleted' });
  await see(link).toBeVisible();

  const person = { id: randomUUID(), email: 'bo@example.com', role: 'admin' as const };
  const path = (await link.getAttribute('href')) ?? '';
  expect(path).toMatch(/\/settings\/audit\/views\/view_\w+$/);
  const other = await panel.enter({ tenantId, person, path });
  await seeListed(other, idsOf(deletions()).slice(0, 50));
  await see(other).toHaveURL(/\/events\?action=delete$/);
  // The same name again: the view gets the criteria of now.
  await choose(other, 'Resource', 'Queue');
  await other.getByRole('button', { name: 'Save as a view' }).click();
  await other.getByLabel('Name of the view').fill('Everything deleted');
  await other.getByRole('button', { name: 'Replace', exact: true }).click();
  await see(other.getByRole('dialog')).toHaveCount(0);
  await link.click();
  await see(page).toHaveURL(/action=delete&resource=queue$/);
  await seeListed(page, idsOf(deletions().filter(({ resource }) => resource.type === 'queue')));

  await page.getByRole('button', { name: 'Save as evidence' }).click();
  await page.getByLabel('Title').fill('Queues deleted');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await see(page.getByRole('heading', { name: 'Queues deleted' })).toBeVisible();
  await page.getByRole('button', { name: 'Save as a view' }).click();
  await page.getByLabel('Name of the view').fill('From evidence');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await sidebar.getByRole('link', { name: 'Views', exact: true }).click();
  for (const name of ['From evidence', 'Everything deleted']) {
    const row = page.getByRole('main').getByRole('listitem').filter({ hasText: name });
    await see(row).toContainText('Action: Delete');
    await row.getByRole('button', { name: `Delete the view ${name}` }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
    await see(row).toHaveCount(0);
  }
  await see(page.getByText('Save a search on the page Events to find it here.')).toBeVisible();
});

test('a view that is half filled in when the session ends is there after the next sign-in', async () => {
  panel.allow(/^401 /);
  const page = await enter('/settings/audit/events?action=delete');
  await page.getByRole('button', { name: 'Save as a view' }).click();
  const shared = (page: Page) => page.getByRole('dialog').getByRole('checkbox');
  await shared(page).check();
  await page.getByLabel('Name of the view').fill('Half a na');
  await page.context().clearCookies();
  await page.keyboard.press('Enter');
  await see(page.getByRole('heading', { name: 'Your session has ended' })).toBeVisible();
  const next = await panel.enter({ tenantId, context: page.context() });
  await see(next.getByLabel('Name of the view')).toHaveValue('Half a na');
  await see(shared(next)).toBeChecked();
  await see(next.getByRole('dialog')).toContainText('Delete');
});

test('a rule is tested on the past, rings when it happens again, and its alert is acknowledged', async () => {
  const page = await enter();
  const sidebar = page.getByRole('navigation', { name: 'Audit pages' });
  await sidebar.getByRole('link', { name: 'Alerts' }).click();
  await see(page.getByText('No rule has raised an alert.')).toBeVisible();
  await page.getByRole('button', { name: 'New rule' }).click();
  const form = page.getByRole('dialog', { name: 'New rule' });
  await form.getByLabel('Name of the rule').fill('Queues deleted');
  await form.getByRole('button', { name: 'Action', exact: true }).click();
  await page.getByRole('option', { name: /^Delete/ }).click();
  await page.keyboard.press('Escape');
  await form.getByRole('button', { name: 'Resource', exact: true }).click();
  await page.getByRole('option', { name: /^Queue/ }).click();
  await page.keyboard.press('Escape');
  await form.getByRole('button', { name: 'Test on the last 90 days' }).click();
  const deleted = demo.history.filter(
    ({ action, resource, ms }) =>
      action === 'delete' && resource.type === 'queue' && ms >= demo.nowMs - 90 * dayMs,
  );
  const alerts = `${deleted.length} alert${deleted.length === 1 ? '' : 's'}`;
  await see(form.getByRole('status')).toContainText(`${alerts} in the last 90 days`);
  await see(form.getByRole('link', { name: 'Event 1' })).toHaveCount(Math.min(10, deleted.length));
  // What is wrong is said at its field, before anything is sent.
  const kind = form.getByLabel('An alert is raised for');
  await kind.selectOption('Many events in a short time');
  const minutes = form.getByRole('spinbutton', { name: 'Within minutes' });
  await minutes.fill('1441');
  await see(minutes).toHaveAccessibleDescription('1 – 1,440');
  await see(minutes).toHaveAttribute('aria-invalid', 'true');
  await kind.selectOption('Each matching event');
  const emails = form.getByLabel('Mail to');
  await emails.fill('ana@example.com, bob');
  await see(emails).toHaveAccessibleDescription('Not an e-mail address: bob');
  await see(form.getByRole('button', { name: 'Save', exact: true })).toBeDisabled();
  await emails.fill('ana@example.com');
  await form.getByRole('button', { name: 'Save', exact: true }).click();
  await see(form).toHaveCount(0);
  const rule = page.getByRole('switch', { name: 'Rule Queues deleted' });
  await see(rule).toBeChecked();

  const made = eventOf({ action: 'delete', diff: {}, timestamp: new Date().toISOString() });
  const { key } = await panel.client.apiKeys.create(tenantId, {
    name: 'Recorder',
    scopes: ['events:write'],
  });
  const url = '/api/audit-logs';
  const recorded = await panel.service.call({ method: 'POST', url, key, body: made });
  expect(recorded.status, recorded.text).toBe(201);
  await panel.service.app.alerts.tick();
  await page.reload();
  const alert = page.getByRole('listitem').filter({ hasText: 'What set it off' });
  await see(alert).toHaveCount(1);
  await see(alert).toContainText('Queues deleted');
  await alert.getByRole('button', { name: 'Acknowledge' }).click();
  await see(alert).toContainText('Acknowledged by ana@example.com');
  await page.getByRole('button', { name: /^Send no messages about Queues deleted/ }).click();
  const muting = page.getByRole('dialog', { name: 'Send no messages about Queues deleted' });
  await muting.getByLabel('Messages again').selectOption({ label: 'tomorrow' });
  await muting.getByRole('button', { name: 'Mute', exact: true }).click();
  await see(page.getByText(/no messages until/)).toBeVisible();
  await rule.click();
  await see(rule).not.toBeChecked();
  await alert.getByRole('button', { name: 'What set it off' }).click();
  await alert.getByRole('link', { name: 'Event 1' }).click();
  await see(page).toHaveURL(new RegExp(recorded.body.id));
  await see(detail(page).getByRole('heading', { level: 2 })).toBeVisible();
});

test('the days of a tested rule are those of UTC, also where its noon is on the next day', async () => {
  const id = await panel.newTenant('Line Islands');
  await panel.client.tenants.put(id, { timeZone: 'Pacific/Kiritimati' });
  const day = new Date(Date.now() - dayMs);
  await panel.record(id, [{ action: 'delete', timestamp: day.toISOString() }]);
  const page = await panel.enter({ tenantId: id, path: '/settings/audit/alerts' });
  await page.evaluate(`fetch('/api/alert-rules', {
    method: 'POST', headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Deleted', kind: 'match', filters: { action: 'delete' } }),
  })`);
  await page.reload();
  await page.getByRole('button', { name: 'Deleted', exact: true }).click();
  await page.getByRole('button', { name: 'Test on the last 90 days' }).click();
  const named = day.toLocaleDateString('en-US', { dateStyle: 'full', timeZone: 'UTC' });
  await see(page.getByText(`${named}: 1`)).toBeAttached();
});

test('a built-in rule says why it matters and what to do, and is switched on with one click', async () => {
  const page = await enter('/settings/audit/alerts');
  const rule = page.getByRole('listitem').filter({ hasText: 'API key made' });
  await see(rule).toContainText('A key works without a person');
  await rule.getByRole('button', { name: 'API key made', exact: true }).click();
  await see(rule).toContainText('What to do: Check that the key has an owner');
  const turn = rule.getByRole('switch');
  await see(turn).not.toBeChecked();
  await turn.click();
  await see(turn).toBeChecked();
  await rule.getByRole('button', { name: 'Test on the last 90 days' }).click();
  await see(rule.getByRole('status')).toContainText('in the last 90 days');
  await rule.getByRole('button', { name: 'Edit the rule API key made' }).click();
  const form = page.getByRole('dialog', { name: 'Edit the rule' });
  await form.getByLabel('Mail to').fill('sec@example.com');
  await form.getByRole('button', { name: 'Save', exact: true }).click();
  await see(form).toHaveCount(0);
  await rule.getByRole('button', { name: 'Edit the rule API key made' }).click();
  await see(form.getByLabel('Mail to')).toHaveValue('sec@example.com');
});

test('listeners of recordings are two clicks away, counted per person and day, with the odd night marked', async () => {
  const page = await enter();
  await page.getByRole('link', { name: 'Sensitive access' }).click();
  const listened = demo.lastMonth.filter(
    ({ resource, action }) => resource.type === 'recording' && /access|download/.test(action),
  );
  const people = Map.groupBy(listened, ({ actor }) => actor.email ?? '');
  expect(people.size).toBe(3);
  for (const [email, events] of people) {
    const row = page.getByRole('row').filter({ hasText: email });
    await see(row.getByRole('cell').first()).toHaveText(String(events.length));
  }
  const [total, firstDay] = await Promise.all([
    page.getByRole('columnheader', { name: 'Total' }).boundingBox(),
    page.getByRole('columnheader').nth(2).locator('span').boundingBox(),
  ]);
  expect(firstDay?.x).toBeGreaterThanOrEqual((total?.x ?? 0) + (total?.width ?? 0));
  await see(
    page.getByRole('link', { name: /rhea\.kapoor.*: \d+\. Unusually many/ }),
  ).not.toHaveCount(0);

  // Over a year and on a phone the odd night is still the first that is seen.
  await page.setViewportSize({ width: 360, height: 740 });
  await page.goto(`${panel.url}/settings/audit/sensitive-access?last=365d`);
  const odd = page.getByRole('region', { name: /^\d+ unusual days?$/ });
  await see(odd.getByRole('link').first()).toBeInViewport();
  const first = page.getByRole('row').nth(1);
  await see(first.getByRole('img', { name: /unusual day/ })).toBeInViewport();
  await see(first.getByRole('cell').first()).toBeInViewport();
  await odd
    .getByRole('link', { name: /^rhea\.kapoor/ })
    .first()
    .click();
  await see(page.getByRole('button', { name: /^User rhea\.kapoor/ })).toBeVisible();
  await page.goBack();
  await page.setViewportSize({ width: 1440, height: 900 });

  await page.goto(`${panel.url}/settings/audit/sensitive-access`);
  await page.getByRole('link', { name: 'Show the events, by person' }).click();
  await see(page.getByText(`${listened.length} events`)).toBeVisible();
  const order = await page.locator('tr.row td:nth-child(2) .value').allTextContents();
  expect(order).toEqual([...order].sort());
});

test('each of 49 people who listened is reached, by one Tab stop and arrow keys', async () => {
  const id = await panel.newTenant('Listeners');
  const actor = eventOf().actor as object;
  const access = (email: string) => ({
    diff: {},
    action: 'access',
    actor: { ...actor, id: randomUUID(), email },
    resource: { type: 'recording', id: randomUUID(), name: null },
  });
  const people = Array.from({ length: 49 }, (_, n) => `p${String(n).padStart(2, '0')}@example.com`);
  await panel.record(id, people.map(access));
  const page = await panel.enter({ tenantId: id, path: '/settings/audit/sensitive-access' });
  const names = page.getByRole('rowheader');
  await see(names).toHaveCount(40);
  await page.getByRole('button', { name: 'Show 9 more' }).click();
  await see(names).toHaveText(people);
  const table = page.getByRole('table');
  expect(await table.locator('[tabindex="0"]').count()).toBe(1);
  await table.getByRole('link').first().focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await see(page.getByRole('link', { name: /^p02@/ })).toBeFocused();
  await page.keyboard.press('ArrowLeft');
  await see(page.getByRole('button', { name: 'p02@example.com' })).toBeFocused();
});
