import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { EventInput } from '@indelible/client';
import { nilUuid } from '@indelible/protocol';
import { actorWith, eventOf } from '@indelible/testing/service';
import { expect, test } from 'vitest';
import { openPanel } from './open-panel.ts';
import { detail, filters, rows, see, seeListed } from './panel-page.ts';

/* How the list of events follows the log, and looks as its reader wants it. */

const list = '/settings/audit/events';
const panel = await openPanel();
const { id: tenantId } = await panel.service.tenant();

const record = async (changes = {}) =>
  (await panel.client.record({ tenantId, ...eventOf(changes) } as EventInput)).id;

test('new events wait behind a badge, or come live; unused or hidden the page does not ask for them', async () => {
  const [first, second] = [await record(), await record()];
  const context = await panel.context();
  await context.clock.install();
  const page = await panel.enter({ tenantId, context, path: `${list}?action=update` });
  await seeListed(page, [second, first]);
  let polls = 0;
  page.on('request', (request) => {
    polls += Number(request.url().includes('sort=sequence'));
  });
  const third = await record();
  const badge = page.getByRole('button', { name: '1 new event' });
  await see(badge).toBeVisible();
  await seeListed(page, [second, first]);
  await badge.click();
  await seeListed(page, [third, second, first]);
  await see(badge).toHaveCount(0);

  await page.getByRole('button', { name: 'Live', exact: true }).click();
  const fourth = await record();
  await seeListed(page, [fourth, third, second, first]);
  await see(page.getByRole('status').getByText('1 new event')).toHaveCount(1);

  const asksWithin = async (ms: number) => {
    const before = polls;
    await context.clock.fastForward(ms);
    await page.evaluate('fetch("/api/panel-config")');
    return polls - before;
  };
  await see.poll(() => asksWithin(6_000)).toBeGreaterThan(0);
  await asksWithin(16 * 60_000);
  // An answer may still be under way; then nothing more is asked.
  await see.poll(() => asksWithin(60_000)).toBe(0);
  await page.mouse.move(300, 300);
  await see.poll(() => asksWithin(6_000)).toBeGreaterThan(0);
  await page.evaluate(`Object.defineProperty(document, 'visibilityState', { value: 'hidden' });
    document.dispatchEvent(new Event('visibilitychange'))`);
  await see.poll(() => asksWithin(60_000)).toBe(0);
});

test('a browser whose clock is ten minutes slow shows the newest events too', async () => {
  const context = await panel.context();
  await context.clock.setFixedTime(Date.now() - 600_000);
  const id = await record({ action: 'publish' });
  const page = await panel.enter({ tenantId, context, path: `${list}?last=15m&action=publish` });
  await seeListed(page, [id]);
  await see(page.getByRole('status').getByText('1 event', { exact: true })).toBeVisible();
});

test('invisible characters of a value are written out; a row says how many more changes there are, and a long old value leaves room for the new one', async () => {
  const from = 'Welcome to the reception '.repeat(40);
  const spoken = { greeting: { from, to: 'Hel\u200blo' }, farewell: { from: 'Bye', to: from } };
  const diff = { ...spoken, seats: { from: 1, to: 2 }, wait: { from: 3, to: 4 } };
  await record({ action: 'update', diff });
  const page = await panel.enter({ tenantId, path: list });
  const values = rows(page).filter({ hasText: 'greeting' }).locator('li [dir=auto]');
  await see(values).toHaveCount(4);
  await see(rows(page)).toContainText(['Hel⟨U+200B⟩lo']);
  await see(rows(page).getByText('+2 more')).toBeVisible();
  const boxes = await Promise.all((await values.all()).map((each) => each.boundingBox()));
  for (const box of boxes) expect(box?.width).toBeGreaterThan(20);
});

test('an actor without an address has a name', async () => {
  const act = (role: string, id = randomUUID()) =>
    record({ action: 'push', actor: actorWith({ id, email: null, role }) });
  await act('anonymous', nilUuid);
  await act('system');
  const page = await panel.enter({ tenantId, path: `${list}?action=push` });
  const who = rows(page).locator('td:nth-child(2)');
  await see(who).toHaveText([/^System[0-9a-f]{8}$/, 'Not signed in']);
  await page.getByRole('button', { name: 'User', exact: true }).click();
  await page.getByRole('option', { name: /^System · [0-9a-f]{8}/ }).click();
  await see(page.getByRole('button', { name: /^User System · [0-9a-f]{8}/ })).toBeVisible();
  await page.keyboard.press('Escape');
  await page.goto(`${panel.url}${list}`);
  await see(who.getByText('API key').first()).toBeVisible();
});

test('an actor whom a link names by an id is called by name in the filter, though no newest event is theirs', async () => {
  const named = await panel.newTenant('Named');
  const actor = { name: 'Night agent', role: 'agent', email: null };
  const ids = [{ id: randomUUID() }, { externalId: 'agent-7' }];
  await panel.record(named, [...ids.map((id) => ({ actor: { ...actor, ...id } })), {}]);
  await panel.record(named, new Array(101).fill({}));
  const page = await panel.enter({ tenantId: named, path: list });
  for (const [id] of ids.map((each) => Object.values(each))) {
    await page.goto(`${panel.url}${list}?user=${id}`);
    await see(rows(page)).toHaveCount(1);
    await filters(page).getByRole('button', { name: 'User Night agent', exact: true }).click();
    const chosen = page.getByRole('dialog').getByRole('option', { selected: true });
    await see(chosen).toHaveText(/^Night agent/);
  }
  await page.keyboard.press('Escape');
});

test('criteria name persons and resources beside their ids; the service and people without an id are one choice', async () => {
  const id = randomUUID();
  const actor = actorWith({ id, email: null, role: 'admin' });
  const resource = { type: 'ivr', id: randomUUID(), name: 'Madrid' };
  await record({ actor, resource });
  await record({ actor: actorWith({ id: nilUuid, email: null, role: 'system' }) });
  const search = `user=${id}&resource_id=${resource.id}`;
  const page = await panel.enter({ tenantId, path: `/settings/audit/exports?${search}` });
  const criteria = page.getByRole('main').getByRole('definition');
  const person = `admin · ${id.slice(0, 8)} (${id})`;
  await see(criteria).toContainText([person, `Madrid (${resource.id})`]);
  await page.goto(`${panel.url}${list}?last=90d&action=no_such_thing&${search}`);
  await see(page.getByRole('main').getByText(person).last()).toBeVisible();
  await page.goto(`${panel.url}${list}?last=90d`);
  await filters(page).getByRole('button', { name: 'User', exact: true }).click();
  await see(page.getByRole('option', { name: 'System / Not signed in' })).toBeVisible();
});

test('why a person of the tenant did it is shown, in the list and in the detail', async () => {
  const id = await record({ action: 'approve', reason: 'Ticket 4711' });
  const page = await panel.enter({ tenantId, path: `${list}?q=4711` });
  await see(rows(page)).toContainText(['“Ticket 4711”']);
  await page.goto(`${panel.url}${list}/${id}`);
  await see(detail(page).getByRole('definition').getByText('Ticket 4711')).toBeVisible();
});

test('in the order of persons the changes have room, and a resource without a name is called by type and id', async () => {
  const resource = { type: 'queue', id: randomUUID() };
  const id = await record({ action: 'suspend', resource, diff: { n: { from: 1, to: 2 } } });
  const page = await panel.enter({ tenantId, path: `${list}?action=suspend&sort=user` });
  await page.setViewportSize({ width: 1280, height: 800 });
  await seeListed(page, [id]);
  const width = (name: string) =>
    page.getByRole('columnheader', { name }).evaluate((head) => head.clientWidth);
  expect(await width('Changes')).toBeGreaterThan(await width('Action'));
  await page.goto(`${panel.url}${list}/${id}`);
  const title = detail(page).getByRole('heading', { level: 2 });
  await see(title).toHaveText(`Queue ${resource.id.slice(0, 8)}`);
});

test('that one search found nothing is not said of the next one', async () => {
  const id = await record({ action: 'revoke' });
  const page = await panel.enter({ tenantId, path: `${list}?action=revoke&q=nothing-like-it` });
  const nothing = page.getByRole('heading', { name: 'No events found' });
  await see(nothing).toBeVisible();
  const held = Promise.withResolvers<void>();
  await page.route(/audit-logs\?/, (route) => held.promise.then(() => route.continue()));
  await page.getByRole('button', { name: 'Without “Words”' }).click();
  await see(page.getByText('Loading', { exact: true })).toBeAttached();
  await see(nothing).toHaveCount(0);
  held.resolve();
  await seeListed(page, [id]);
});

test('the first and the second lines of a row are level in all its columns', async () => {
  await record({ diff: { a: { from: 1, to: 2 }, b: { from: 3, to: 4 } }, outcome: 'denied' });
  const page = await panel.enter({ tenantId, path: `${list}?outcome=denied` });
  await see(rows(page)).toHaveCount(1);
  // The middles of each column's lines, from the text nodes: time has one line, origin too.
  const middles = await page.evaluate<
    number[][]
  >(`[...document.querySelectorAll('tr.row td')].map((cell) => {
    const found = new Set();
    const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    const range = document.createRange();
    while (walker.nextNode()) {
      range.selectNodeContents(walker.currentNode);
      const { top, bottom, width } = range.getBoundingClientRect();
      if (width > 1) found.add((top + bottom) / 2);
    }
    const [first, ...more] = [...found].sort((a, b) => a - b);
    return [first, ...more.filter((y) => y > first + 9).slice(0, 1)];
  })`);
  expect(middles.map((lines) => lines.length)).toEqual([1, 2, 2, 2, 2, 1]);
  for (const line of [0, 1]) {
    const level = middles.flatMap((lines) => lines[line] ?? []);
    expect(Math.max(...level) - Math.min(...level), `line ${line + 1}`).toBeLessThan(1.6);
  }
});

test('title, days and rows begin at one edge, on a screen of any width and on paper', async () => {
  const page = await panel.enter({ tenantId, path: list });
  await see(rows(page)).not.toHaveCount(0);
  const first = ['h1', 'th[scope=rowgroup]', 'tr.row td:first-child', 'tr.row td:nth-child(2)'];
  const edges = (more: string[] = []) =>
    page.evaluate<number>(`(() => {
      const range = document.createRange();
      const lefts = ${JSON.stringify([...first, ...more])}.map((selector) => {
        const element = document.querySelector(selector);
        range.selectNodeContents(document.createTreeWalker(element, NodeFilter.SHOW_TEXT).nextNode());
        return range.getBoundingClientRect().left;
      });
      // On a phone the second cell is the one on the left.
      const [time, who] = lefts.splice(2, 2);
      lefts.push(Math.min(time, who));
      return Math.max(...lefts) - Math.min(...lefts);
    })()`);
  for (const width of [360, 768, 1440]) {
    await page.setViewportSize({ width, height: 900 });
    expect(await edges(), `${width} px`).toBeLessThan(1.5);
  }
  await page.setViewportSize({ width: 794, height: 1123 });
  await page.emulateMedia({ media: 'print' });
  expect(await edges(['.print-only strong', 'dl.print-only dt'])).toBeLessThan(1.5);
});

test('an open event is printed alone, without its buttons', async () => {
  const page = await panel.enter({ tenantId, path: `${list}/${await record()}` });
  await see(detail(page).getByRole('button', { name: /^Copy/ })).not.toHaveCount(0);
  await page.emulateMedia({ media: 'print' });
  await see(page.locator('table.records')).toBeHidden();
  await see(detail(page).getByText('Resource ID')).toBeVisible();
  await see(detail(page).getByRole('button', { name: /^Copy/ })).toHaveCount(0);
});

test('where there is little room one button shows the filters; those in use stay in sight, and the focus is kept', async () => {
  await record({ action: 'update', outcome: 'success' });
  const page = await panel.enter({ tenantId, path: `${list}?action=update&outcome=success` });
  const button = (name: string) => filters(page).getByRole('button', { name, exact: true });
  await see(button('User')).toBeVisible();
  await see(button('Filters 2 active')).toHaveCount(0);
  // 640 pixels are a laptop's screen at 200 %.
  for (const width of [320, 360, 430, 640]) {
    await page.setViewportSize({ width, height: 740 });
    const fold = button('Filters 2 active');
    await see(fold).toHaveAttribute('aria-expanded', 'false');
    await see(button('User')).toHaveCount(0);
    await see(button('Action Update')).toBeVisible();
    await see(filters(page).getByRole('searchbox')).toBeVisible();
    expect((await rows(page).first().boundingBox())?.y, `${width} px`).toBeLessThan(470);
    await fold.press('Enter');
    await see(button('User')).toBeVisible();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
    await fold.press('Enter');
  }
  await button('Remove the filter Outcome').press('Enter');
  await see(button('Filters 1 active')).toBeFocused();
  await button('Action Update').click();
  await page.getByRole('option', { name: /^Update/ }).click();
  await page.keyboard.press('Escape');
  await see(button('Filters')).toBeFocused();
  await see(button('Action')).toHaveCount(0);
});

test('columns and density are remembered, in the link, and in an export', async () => {
  await record();
  const page = await panel.enter({ tenantId, path: list });
  await page.getByRole('button', { name: 'Display', exact: true }).click();
  for (const name of ['Changes', 'Origin']) await page.getByLabel(name, { exact: true }).uncheck();
  await page.getByLabel('Compact').check();
  await page.keyboard.press('Escape');
  const table = page.locator('table.records');
  const heads = table.getByRole('columnheader');
  await see(heads).toHaveText(['Time', 'Who', 'Action', 'Resource']);
  await see(table).toHaveClass(/compact/);
  const asked = /columns=user%2Caction%2Cresource&density=compact$/;
  await see(page).toHaveURL(asked);
  await page.goto(`${panel.url}${list}?action=update`);
  await see(heads).toHaveText(['Time', 'Who', 'Action', 'Resource']);
  await page.locator('main').getByRole('link', { name: 'Export' }).click();
  await see(page).toHaveURL(asked);
  await see(page.getByLabel('Only the columns of the list: time, Who')).toBeChecked();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download' }).click(),
  ]);
  const [head] = (await readFile(await download.path(), 'utf8')).split('\r\n');
  expect(head).toBe(
    'id,timestamp,actor.id,actor.email,actor.role,actor.name,actor.externalId,onBehalfOf,action,outcome,' +
      'resource.type,resource.id,resource.name,resource.externalId,targets',
  );
  // A colleague's own choice stays, while the link shows what it was made with.
  const colleague = await panel.enter({ tenantId, path: `${list}?columns=action` });
  const theirs = colleague.locator('table.records').getByRole('columnheader');
  await see(theirs).toHaveText(['Time', 'Action']);
  await colleague.getByRole('link', { name: 'Events', exact: true }).click();
  await see(theirs).toHaveCount(6);
});

test('a control pressed by a key keeps the focus: pages, words, a filter, a row that closes, a switch', async () => {
  const id = await panel.newTenant('Keys');
  await panel.record(id, new Array(60).fill({ action: 'update' }));
  const page = await panel.enter({ tenantId: id, path: `${list}?action=update` });
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  await button('Older').press('Enter');
  await see(page.getByText('Page 2 of 2')).toBeVisible();
  await see(button('Older')).toBeFocused();
  await see(button('Older')).toBeDisabled();

  const words = page.getByRole('searchbox', { name: 'Words' });
  await words.fill('nothing');
  await words.press('Enter');
  await see(page.getByText('No events found')).toBeVisible();
  await see(words).toBeFocused();
  await words.press('Escape');
  await see(rows(page)).toHaveCount(50);
  await see(words).toBeFocused();

  await button('Remove the filter Action').press('Enter');
  await see(button('Action')).toBeFocused();
  await see(rows(page).first()).toContainText('Log in');

  const row = rows(page).nth(1).getByRole('link');
  await row.press('Enter');
  await page.getByRole('link', { name: 'Close' }).press('Enter');
  await see(row).toBeFocused();

  await page.goto(`${panel.url}/settings/audit/alerts`);
  const rule = page.getByRole('switch').first();
  await rule.press('Space');
  await see(rule).toBeChecked();
  await see(rule).toBeFocused();
});

test('the list stays where it is when an event opens, the next one follows, and it closes', async () => {
  const ids: string[] = [];
  for (let at = 0; at < 30; at += 1) ids.unshift(await record());
  const page = await panel.enter({ tenantId, path: `${list}?action=update&last=30d` });
  await page.setViewportSize({ width: 1440, height: 500 });
  await see(rows(page).nth(29)).toBeVisible();
  const opened = async (at: number) => {
    await see(detail(page).getByText(ids[at] ?? '', { exact: true })).toBeVisible();
    await see(rows(page).nth(at)).toBeInViewport();
  };
  await rows(page).nth(25).locator('a.row-link').click();
  await opened(25);
  await page.keyboard.press('j');
  await opened(26);
  await page.keyboard.press('Escape');
  await see(detail(page)).toHaveCount(0);
  await see(rows(page).nth(26)).toBeInViewport();
});

test('Escape folds the menu of a phone and gives the focus back to its button', async () => {
  const page = await panel.enter({ tenantId, path: list });
  await page.setViewportSize({ width: 360, height: 780 });
  const menu = page.getByRole('button', { name: 'Menu', exact: true });
  await menu.click();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Escape');
  await see(menu).toHaveAttribute('aria-expanded', 'false');
  await see(menu).toBeFocused();
});
