import { randomUUID } from 'node:crypto';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { openPanel } from './open-panel.ts';
import { detail, see } from './panel-page.ts';

/* The former states of a resource, whatever its history and whatever shows it. */

const panel = await openPanel();
const tenantId = await panel.newTenant('Aurora Travel');
await panel.client.tenants.put(tenantId, { restoreUrl: 'https://app.example.com/restore' });

/** Records a change of one resource for each pair of neighbouring states, oldest first. */
async function changes(states: readonly object[], more = {}) {
  const resource = { type: 'ivr', id: randomUUID(), name: 'Main menu' };
  const startMs = Date.now() - states.length * 1_000;
  const ids = await panel.record(
    tenantId,
    states.slice(1).map((after, at) => ({
      timestamp: new Date(startMs + at * 1_000).toISOString(),
      resource,
      action: 'update',
      diff: undefined,
      before: states[at],
      after,
      ...more,
    })),
  );
  return { ids, path: `/settings/audit/resources/${resource.id}` };
}

const enter = (path: string): Promise<Page> => panel.enter({ tenantId, path });
const cells = (page: Page) => page.getByRole('main').getByRole('cell');

test('the version of an event is shown behind hundreds of newer ones, and none in place of one that is not there', async () => {
  const { ids, path } = await changes(Array.from({ length: 252 }, (_, n) => ({ n })));
  const page = await enter(`/settings/audit/events/${ids[2]}`);
  await detail(page).getByRole('link', { name: 'Restore this version' }).click();
  await see(cells(page)).toHaveText(['2', '3']);
  await see(page.getByText('252 versions')).toBeVisible();
  await page.goto(`${panel.url}${path}`);
  await see(cells(page)).toHaveText(['250', '251']);
  // What was before the oldest one shown is not the state before all changes.
  await see(page.getByText('Before the first recorded change')).toHaveCount(0);
  await page.getByRole('button', { name: 'Older' }).click();
  await see(page.getByText('Before the first recorded change').first()).toBeAttached();
  await page.goto(`${panel.url}${path}?right=${ids[0]}&left=evt_audit_unknown`);
  await see(page.getByText('This event does not exist')).toBeVisible();
  await see(cells(page)).toHaveCount(0);
});

test('a change that was denied has no version to restore', async () => {
  const { ids } = await changes([{ n: 1 }, { n: 2 }], { outcome: 'denied' });
  const page = await enter(`/settings/audit/events/${ids[0]}`);
  await see(detail(page).getByRole('link', { name: 'Versions' })).toBeVisible();
  await see(detail(page).getByRole('link', { name: 'Restore' })).toHaveCount(0);
});

test('on a phone both sides of a comparison are in sight, under the name of the field', async () => {
  const hours = { open: '09:00', greeting: 'Welcome_to_the_line_of_customer_care' };
  const { path } = await changes([hours, { ...hours, open: '08:00' }]);
  const page = await enter(path);
  await page.setViewportSize({ width: 360, height: 740 });
  const [name, ...sides] = [
    page.getByRole('rowheader', { name: 'open' }),
    ...['09:00', '08:00'].map((value) => page.getByRole('cell', { name: value })),
  ];
  await see(name).toBeInViewport({ ratio: 1 });
  for (const side of sides) await see(side).toBeInViewport({ ratio: 1 });
  const tops = await Promise.all(
    [name, ...sides].map(async (box) => (await box.boundingBox())?.y ?? Number.NaN),
  );
  expect(tops[0]).toBeLessThan(tops[1] ?? 0);
  expect(tops[1]).toBe(tops[2]);
});

test('an event of which the service kept some of its changes says so', async () => {
  const state = (n: number) =>
    Object.fromEntries(Array.from({ length: 600 }, (_, at) => [`field${at}`, n]));
  const { ids } = await changes([state(1), state(2)]);
  const page = await enter(`/settings/audit/events/${ids[0]}`);
  await see(detail(page).getByText('At least 500 fields changed')).toBeVisible();
});

test('a difference behind thousands of equal values is counted, and shown', async () => {
  const many = Object.fromEntries(Array.from({ length: 3_000 }, (_, n) => [`field${n}`, n]));
  const { path } = await changes([
    { ...many, zone: 'A' },
    { ...many, zone: 'B' },
  ]);
  const page = await enter(path);
  await see(page.getByText('1 difference')).toBeVisible();
  await page.getByRole('checkbox', { name: 'Only differences' }).check();
  await see(cells(page)).toHaveText(['A', 'B']);
});
