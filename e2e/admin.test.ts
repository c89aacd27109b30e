import { restoringHost } from '@indelible/testing/restoring-host';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { languages } from '../locales/languages.ts';
import { textsIn } from '../locales/texts.ts';
import { dayMs, demoIn, demoTenant, idsOf } from './demo-history.ts';
import { openPanel } from './open-panel.ts';
import { choose, command, detail, filters, listedIds, rows, see, seeListed } from './panel-page.ts';

/* A tenant's admin at work, in half a year of a contact centre's history. */

const { tenantId, settings } = demoTenant;
const panel = await openPanel({ WEBHOOK_ALLOW_PRIVATE: 'true' });
const demo = await demoIn(panel);

const enter = (path?: string): Promise<Page> =>
  panel.enter({ tenantId, ...(path === undefined ? {} : { path }) });

test('an admin finds who deleted a queue, when, and what it held by choosing two filters', async () => {
  const page = await enter();
  await choose(page, 'Action', 'Delete');
  await choose(page, 'Resource', 'Queue');
  const deleted = demo.lastMonth.filter(
    (e) => e.action === 'delete' && e.resource.type === 'queue',
  );
  const [only] = deleted;
  if (!only || deleted.length > 1) throw new Error('the history is another one');
  await seeListed(page, [only.id]);
  await rows(page).getByRole('link').click();
  await see(detail(page).getByRole('heading', { level: 2 })).toHaveText(only.resource.name ?? '');
  await see(detail(page)).toContainText(only.actor.email ?? '');
  await see(detail(page)).toContainText('maxWaitSeconds');
  await see(detail(page)).toContainText('Verified by your browser');
});

test('a name typed into the search field finds its events, whatever its case', async () => {
  const only = demo.lastMonth.find((e) => e.action === 'delete' && e.resource.type === 'queue');
  const page = await enter();
  const words = filters(page).getByRole('searchbox', { name: 'Words' });
  await words.fill(only?.resource.name?.toUpperCase() ?? '');
  await words.press('Enter');
  await choose(page, 'Action', 'Delete');
  await seeListed(page, [only?.id ?? '']);
  await filters(page).getByRole('button', { name: 'Remove the filter Words' }).click();
  const deleted = demo.lastMonth.filter(({ action }) => action === 'delete').reverse();
  await seeListed(page, idsOf(deleted));
  await see(words).toHaveValue('');
});

test("the panel finds an assistant's actions for a person, also denied ones, and shows them as one request", async () => {
  const page = await enter();
  await filters(page).getByRole('combobox', { name: 'More filters' }).selectOption('Kind of actor');
  await page.getByRole('option', { name: /^Assistant/ }).click();
  await page.keyboard.press('Escape');
  const acts = demo.lastMonth.filter(({ actor }) => actor.type === 'agent').reverse();
  await seeListed(page, idsOf(acts));
  await choose(page, 'Outcome', 'Denied');
  const denied = acts.filter(({ outcome }) => outcome === 'denied');
  await seeListed(page, idsOf(denied));
  const [latest] = denied;
  const person = latest?.onBehalfOf?.[0]?.email ?? '';
  const row = rows(page).first();
  await see(row).toContainText(`Routing copilotfor ${person}Assistant · admin`);
  await row.getByRole('link').click();
  await see(detail(page).locator('header p').first()).toHaveText('Update·User roleDenied');
  await see(detail(page)).toContainText(`Assistant Routing copilot for ${person}`);
  await see(detail(page)).toContainText('mcp · tool update_user_role · client desktop-assistant');
  await see(detail(page)).toContainText('missingroles.edit');
  await see(detail(page)).toContainText('Verified by your browser');
  await detail(page).getByRole('link', { name: 'Show everything of this request' }).click();
  const request = acts.filter(({ correlationId }) => correlationId === latest?.correlationId);
  await seeListed(page, idsOf(request));
  await see(rows(page).getByText(/^(Success|Failure|Denied)$/)).toHaveText([
    ...['Failure', 'Denied', 'Success'],
  ]);
});

test('a calendar month of policy changes lists exactly its changes, oldest first, with what changed', async () => {
  const page = await enter('/settings/audit/events?resource=recording_policy');
  const zone = settings.timeZone ?? '';
  const monthOf = (ms: number) =>
    new Date(ms).toLocaleDateString('en-US', { timeZone: zone, month: 'long', year: 'numeric' });
  const today = new Date(demo.nowMs).toLocaleDateString('en-CA', { timeZone: zone });
  const [thisYear = 0, thisMonth = 0] = today.split('-').map(Number);
  // At noon: a change of the clock between then and now does not move the day.
  const lastDayMs = Date.UTC(thisYear, thisMonth - 1, 0, 12);
  const [month = '', year = ''] = monthOf(lastDayMs).split(' ');
  const lastDay = new Date(lastDayMs).toLocaleDateString('en-US', {
    timeZone: zone,
    day: 'numeric',
  });
  await filters(page)
    .getByRole('button', { name: /^Time range/ })
    .click();
  const calendar = page.getByRole('application');
  const number = new Date(`${month} 1, ${year} UTC`).getUTCMonth() + 1;
  await page.getByLabel('Year', { exact: true }).selectOption(year);
  await page.getByLabel('Month', { exact: true }).selectOption(String(number));
  for (const day of ['1', lastDay]) {
    await calendar.getByRole('button', { name: new RegExp(`\\b${month} ${day}, ${year}`) }).click();
  }
  await page.getByRole('button', { name: 'Apply' }).click();
  const whole = filters(page).getByRole('button', { name: `Time range: ${month} ${year}` });
  await see(whole).toBeVisible();
  const chosen = new URL(page.url()).searchParams.get('from');
  for (const command of ['yesterday', `${month.toLowerCase()} ${year}`, 'yesterday']) {
    await page.keyboard.press('/');
    await page.getByRole('dialog').getByRole('searchbox').fill(command);
    await page.getByRole('option', { name: new RegExp(`^${command}$`, 'i') }).click();
    await see(whole).toHaveCount(command === 'yesterday' ? 0 : 1);
  }
  await filters(page)
    .getByRole('button', { name: /^Time range/ })
    .click();
  for (const [end, day] of [
    ['First day', '1'],
    ['Last day', lastDay],
  ] as const) {
    await page.getByRole('spinbutton', { name: `month, ${end}` }).focus();
    await page.keyboard.type(`${String(number).padStart(2, '0')}${day.padStart(2, '0')}${year}`);
  }
  await page.getByRole('button', { name: 'Apply' }).click();
  await see(whole).toBeVisible();
  expect(new URL(page.url()).searchParams.get('from')).toBe(chosen);
  // The palette takes days and names of periods as they are written in the language spoken.
  const dayHour = { timeZone: zone, day: 'numeric', hour: 'numeric', hourCycle: 'h23' } as const;
  const start = () =>
    new Date(new URL(page.url()).searchParams.get('from') ?? 0).toLocaleString('en-US', dayHour);
  const fifth = new Date(`${month} 5, ${year} 12:00 UTC`);
  const texts = textsIn('de', await languages.de.load()).panel;
  await page.getByTitle('Language').selectOption('de');
  await see(page.getByRole('heading', { name: texts.nav.events, exact: true })).toBeVisible();
  const long = fifth.toLocaleDateString('de', { dateStyle: 'long', timeZone: 'UTC' });
  await command(page, `${long} 14:30`);
  await see.poll(start).toBe('5, 14');
  await command(page, texts.range.lastMonth);
  await see.poll(start).toBe('1, 00');
  await page.getByTitle('Sprache').selectOption('en');
  await filters(page)
    .getByRole('button', { name: /^Time range/ })
    .click();
  await page.getByRole('spinbutton', { name: 'hour, Start time' }).focus();
  await page.keyboard.type('0930');
  await page.getByRole('spinbutton', { name: 'hour, End time' }).focus();
  await page.keyboard.type('1715');
  await page.getByRole('button', { name: 'Apply' }).click();
  const timed = filters(page).getByRole('button', { name: /^Time range: .*09:30.*17:15/ });
  await see(timed).toBeVisible();
  await command(page, 'last month');
  await see(whole).toBeVisible();
  await page.getByRole('combobox', { name: 'Sort' }).selectOption('Oldest first');
  const changes = demo.history.filter(
    ({ ms, resource }) =>
      resource.type === 'recording_policy' && monthOf(ms) === `${month} ${year}`,
  );
  expect(changes.length).toBeGreaterThan(2);
  expect(changes.length).toBeLessThan(50);
  await seeListed(page, idsOf(changes));
  await see(page.getByText(`${changes.length} events`)).toBeVisible();
  for (const row of await rows(page).all()) {
    await see(row).toContainText(/percent|retentionDays|pauseOnCardEntry/);
  }
});

test('two versions of a menu are compared, one is put back by the host product, another is refused', async () => {
  const host = await restoringHost(Date.now);
  host.answers = [{ status: 'applied' }, { status: 'refused', reason: 'Frozen until Monday' }];
  const menus = demo.history.filter(({ resource }) => resource.name === 'Main menu').reverse();

  const page = await enter('/settings/audit/events?resource=ivr&last=all');
  await page.getByRole('button', { name: 'Main menu' }).first().click();
  await page.getByRole('menuitem', { name: 'Versions of this resource' }).click();
  await see(page.getByRole('heading', { name: 'Main menu' })).toBeVisible();
  await see(page.getByText(`${menus.length} versions`)).toBeVisible();
  // The slider moves through the life of the menu, each version beside the one before it.
  const shown = page.getByRole('region', { name: 'History' }).locator('[aria-current=true]');
  const slider = page.getByRole('slider', { name: 'Version' });
  for (const _ of [1, 2]) await slider.press('ArrowLeft');
  await see(page).toHaveURL(new RegExp(`right=${menus[2]?.id}$`));
  await see(shown).toHaveText(/After/);
  // With a newer one the older is still on the left.
  const other = page.getByRole('combobox', { name: 'Compared with' });
  await other.selectOption(menus[0]?.id ?? '');
  await see(page.getByRole('columnheader').nth(2)).toContainText('Current');
  await other.selectOption(menus[4]?.id ?? '');
  await see(page.getByText(/^\d+ differences?$/)).toBeVisible();
  await see(page.getByRole('rowheader', { name: '0', exact: true })).toHaveCount(0);
  await page.getByRole('checkbox', { name: 'Only differences' }).check();

  // Nothing can be restored until the host product has said where.
  await see(page.getByRole('button', { name: 'Restore this version' })).toHaveCount(0);
  const { restoreSecret } = await panel.client.tenants.put(tenantId, { restoreUrl: host.url });
  host.secret = restoreSecret ?? '';
  await page.reload();
  await page.getByRole('button', { name: 'Restore this version' }).first().click();
  const dialog = page.getByRole('dialog', { name: 'Restore Main menu' });
  await see(dialog).toContainText(menus[4]?.actor.email ?? '');
  await see(dialog.getByRole('columnheader')).toHaveText(['Field', 'Current', 'After the restore']);
  await dialog.getByRole('button', { name: 'Restore', exact: true }).click();
  await see(dialog.getByRole('status')).toContainText('Restored');
  expect([...host.applied.values()]).toEqual([menus[4]?.after]);
  await dialog.getByRole('button', { name: 'Close' }).click();
  // The host has not recorded its change: what is called current is not any more.
  await see(page.getByText('has not recorded the change yet')).toBeVisible();

  // What was asked and answered is no version of the menu.
  await see(page.getByText(`${menus.length} versions`)).toBeVisible();
  await page.getByRole('button', { name: 'Restore this version' }).first().click();
  const fields = dialog.getByRole('checkbox');
  await see(fields.first()).toBeChecked();
  const label = await fields.first().getAttribute('aria-label');
  for (const other of await fields.all()) await other.uncheck();
  await see(dialog.getByRole('button', { name: 'Restore', exact: true })).toBeDisabled();
  await fields.first().check();
  await dialog.getByRole('button', { name: 'Restore', exact: true }).click();
  await see(dialog.getByRole('status')).toContainText('Frozen until Monday');
  const field = label?.replace('Restore the field ', '') ?? '';
  const state = new Map(Object.entries(menus[4]?.after ?? {}));
  expect(host.calls[1]?.body.fields).toEqual({ [field]: state.get(field) });
  expect([host.applied.size, host.forged]).toEqual([1, 0]);
  await dialog.getByRole('button', { name: 'Close' }).click();
  await page.goto(`${panel.url}/settings/audit/events?action=restore`);
  await see(rows(page).getByText(/^(Success|Denied)$/)).toHaveText(['Denied', 'Success']);
});

test('reload, Back, a copied link and paper keep the search', async () => {
  const page = await enter();
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await choose(page, 'Action', 'Update');
  // The rows of the former search are still there, but do not lead on.
  const held = Promise.withResolvers<void>();
  await page.route(/audit-logs\?.*category=/, (route) => held.promise.then(() => route.continue()));
  await choose(page, 'Category', 'Configuration');
  const older = page.getByRole('button', { name: 'Older' });
  await see(older).toBeDisabled();
  held.resolve();
  await older.click();
  await see(page.getByText(/^Page 2 of/)).toBeVisible();
  const second = await listedIds(page);
  const address = page.url();
  await page.reload();
  await seeListed(page, second);
  expect(page.url()).toBe(address);

  await rows(page).nth(2).getByRole('link').click();
  await see(detail(page)).toBeVisible();
  expect(page.url()).toContain(second[2]);
  await page.goBack();
  await see(detail(page)).toHaveCount(0);
  await seeListed(page, second);
  expect(page.url()).toBe(address);
  await page.goBack();
  await see(page.getByText(/^Page 1 of/)).toBeVisible();
  const first = await listedIds(page);
  expect(first.filter((id) => second.includes(id))).toEqual([]);

  await page.getByRole('button', { name: 'Copy link' }).click();
  const copied = new URL(await page.evaluate<string>('navigator.clipboard.readText()'));
  expect(copied.searchParams.has('from') && copied.searchParams.has('to')).toBe(true);
  const colleague = await enter(copied.pathname + copied.search);
  await seeListed(colleague, first);

  // The checkpoint is asked for when a person prints, and not before.
  const asked: string[] = [];
  colleague.on('request', (request) => asked.push(new URL(request.url()).pathname));
  await colleague.reload();
  await seeListed(colleague, first);
  expect(asked.filter((path) => path.endsWith('/checkpoint'))).toEqual([]);
  await colleague.evaluate(`window.print = () => {
    document.title = document.querySelector('.print-only').textContent;
  }`);
  await colleague.keyboard.press('Control+p');
  await see(colleague).toHaveTitle(/Log of [\d,]+ entries, root [0-9a-f]{64}/);

  await colleague.emulateMedia({ media: 'print' });
  await see(colleague.getByRole('navigation').first()).toBeHidden();
  await see(colleague.getByText('Aurora Travel · Audit')).toBeVisible();
  await see(colleague.getByText('Time zone America/New_York')).toBeVisible();
  await see(colleague.locator('dl.print-only')).toContainText('Action:Update');
  await see(colleague.locator('dl.print-only')).toContainText('Category:Configuration');
});

test('dragging over the histogram leads to just the events of the bars that were dragged over; zooming out widens it', async () => {
  const page = await enter();
  await see(page.getByText(/^\d+ events$/)).toBeVisible();
  const before = page.url();
  const bars = page.getByRole('region', { name: 'Events over time' }).locator('svg').first();
  const box = await bars.boundingBox();
  if (box === null) throw new Error('there is no histogram');
  const at = (part: number) => [box.x + part * box.width, box.y + box.height / 2] as const;
  await page.mouse.move(...at(0.3));
  await page.mouse.down();
  await page.mouse.move(...at(0.4), { steps: 3 });
  await page.mouse.move(...at(0.5), { steps: 3 });
  await page.mouse.up();
  await see(page).toHaveURL(/from=.*to=/);
  const { searchParams } = new URL(page.url());
  const [from, to] = ['from', 'to'].map((name) => Date.parse(searchParams.get(name) ?? ''));
  if (from === undefined || to === undefined) throw new Error('there is no range');
  expect((to - from) / dayMs).toBeGreaterThan(5);
  expect((to - from) / dayMs).toBeLessThan(9);
  const inside = demo.history.filter(({ ms }) => ms >= from && ms < to);
  await see(page.getByText(`${inside.length} events`, { exact: true })).toBeVisible();
  await seeListed(page, idsOf(inside.reverse().slice(0, 50)));
  await page.goto(`${page.url()}&action=update`);
  await page.getByRole('button', { name: 'Zoom out' }).click();
  await see(page).not.toHaveURL(new RegExp(`from=${searchParams.get('from')}`));
  const wider = new URL(page.url()).searchParams;
  expect(Date.parse(wider.get('from') ?? '')).toBeLessThan(from);
  expect(Date.parse(wider.get('to') ?? '')).toBeGreaterThan(to);
  // However often, it stays on the page and keeps the filter.
  for (const _ of [1, 2, 3, 4]) {
    const start = new URL(page.url()).searchParams.get('from');
    await page.getByRole('button', { name: 'Zoom out' }).click();
    await see(page).not.toHaveURL(new RegExp(`from=${start}`));
    const { pathname, searchParams: next } = new URL(page.url());
    expect([pathname, next.get('action')]).toEqual(['/settings/audit/events', 'update']);
  }
  await see(page.getByRole('button', { name: 'Action Update' })).toBeVisible();
  for (let step = 0; step < 7; step += 1) await page.goBack();
  await see(page).toHaveURL(before);
});

test('everything is reached by keyboard: rows, events, help, and commands found without their accents', async () => {
  const page = await enter();
  const ids = await listedIds(page);
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await page.keyboard.press('k');
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await see(detail(page)).toBeVisible();
  expect(page.url()).toContain(ids[1]);
  await page.keyboard.press('j');
  await see(detail(page)).toContainText(ids[2] ?? '');
  await page.keyboard.press('Escape');
  await see(detail(page)).toHaveCount(0);

  await page.keyboard.press('?');
  await see(page.getByRole('dialog', { name: 'Keyboard shortcuts' })).toBeVisible();
  await page.keyboard.press('Escape');
  await see(page.getByRole('dialog')).toHaveCount(0);
  await page.keyboard.press('g');
  await page.keyboard.press('w');
  await see(page).toHaveURL(/\/webhooks$/);
  await page.keyboard.press('g');
  await page.keyboard.press('e');
  await see(page).toHaveURL(/\/events$/);

  await page.keyboard.press('/');
  await page.getByRole('dialog').getByRole('searchbox').fill('theme');
  for (const theme of ['System', 'Light', 'Dark']) {
    const option = page.getByRole('option', { name: `Theme: ${theme}` });
    await see(option).toHaveAttribute('data-focused', 'true');
    if (theme !== 'Dark') await page.keyboard.press('ArrowDown');
  }
  await page.keyboard.press('Enter');
  await see(page.getByRole('combobox', { name: 'Theme' })).toHaveValue('dark');

  await command(page, 'language portugues');
  await see(page.getByRole('heading', { name: 'Eventos' })).toBeVisible();
  await command(page, 'no-such-name', 'no-such-name');
  await see(page).toHaveURL(/\?q=no-such-name$/);
  await page.goBack();
  await command(page, 'acao exclu', 'Exclusão');
  await see(page).toHaveURL(/action=delete/);
  await command(page, 'integridade');
  await see(page).toHaveURL(/\/integrity$/);
});
