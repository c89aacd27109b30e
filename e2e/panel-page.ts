import { expect } from '@playwright/test';
import type { Locator, Page } from 'playwright-core';

/* What people see and touch on the panel's pages, by the names that screen readers say. */

/** Expectations that wait; for a machine that does much else at the same time. */
export const see = expect.configure({ timeout: 300_000 });

export const rows = (page: Page): Locator => page.locator('tr.row');

export const detail = (page: Page): Locator =>
  page.getByRole('region', { name: 'Event', exact: true });

export const filters = (page: Page, name = 'Filters'): Locator =>
  page.getByRole('group', { name, exact: true });

/** The ids of the listed events, in order, once there are some and no others are on their way. */
export async function listedIds(page: Page): Promise<string[]> {
  await see(page.locator('.records-box[aria-busy=false] a.row-link')).not.toHaveCount(0);
  return idsNow(page);
}

/** Until the list shows these events: it may still show the former ones for a moment. */
export const seeListed = (page: Page, ids: readonly string[]): Promise<void> =>
  see.poll(() => idsNow(page)).toEqual(ids);

const idsNow = (page: Page) =>
  page.evaluate<string[]>(`[...document.querySelectorAll('a.row-link')]
    .map(({ href }) => /evt_audit_\\w+/.exec(href)[0])`);

const furtherFilters = ['Category', 'Outcome'];

/** Picks one value of a filter and closes its choices; a further filter is added first. */
export async function choose(page: Page, filter: string, value: string): Promise<void> {
  if (furtherFilters.includes(filter)) {
    await filters(page).getByLabel('More filters').selectOption(filter);
  } else await filters(page).getByRole('button', { name: filter, exact: true }).click();
  await page.getByRole('option', { name: new RegExp(`^${value}`) }).click();
  await page.keyboard.press('Escape');
  await see(filters(page).getByRole('button', { name: `${filter} ${value}` })).toBeVisible();
}

/**
 * Enters it into the palette and, as a fast typist does, at once takes the first thing found.
 * Values of filters come from the service: for one of them, waits until it is found.
 */
export async function command(page: Page, text: string, value = ''): Promise<void> {
  await page.keyboard.press('/');
  const words = page.getByRole('dialog').getByRole('searchbox');
  await see(words).toBeFocused();
  await words.fill(text);
  await see(page.getByRole('dialog').getByRole('option').first()).toContainText(value);
  await page.keyboard.press('Enter');
  await see(page.getByRole('dialog')).toHaveCount(0);
}
