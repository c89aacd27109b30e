import type { Page } from 'playwright-core';

/** What stands for its kind on the pages that show one of something. */
export interface Shown {
  eventId: string;
  resourceId: string;
  searchId: string;
}

/** Every page of the panel by name, as a path. */
export function everyPage({ eventId, resourceId, searchId }: Shown): Record<string, string> {
  const base = '/settings/audit';
  return {
    events: `${base}/events?resource=ivr&resource=recording_policy`,
    event: `${base}/events/${eventId}?resource=ivr`,
    versions: `${base}/resources/${resourceId}`,
    'operator-access': `${base}/operator-access?last=90d`,
    'recording-access': `${base}/recording-access`,
    exports: `${base}/exports`,
    integrity: `${base}/integrity`,
    searches: `${base}/searches`,
    search: `${base}/searches/${searchId}`,
  };
}

/** As the reader of `page`: keeps a search, makes an export, and finds a menu that was changed. */
export function prepare(page: Page): Promise<Shown> {
  return page.evaluate<Shown>(`(async () => {
    const ask = async (path, body) => {
      const headers = { 'content-type': 'application/json' };
      const init = body && { method: 'POST', headers, body: JSON.stringify(body) };
      return fetch('/api/audit-logs' + path, init);
    };
    const filters = { action: 'delete', resource: 'recording' };
    const search = await (await ask('/searches', { filters, note: 'Case 4711' })).json();
    await ask('/exports', { filters: { action: 'delete' }, format: 'csv' });
    const menus = await (await ask('?resource=ivr&limit=1')).json();
    const [{ id: eventId, resource }] = menus.data;
    return { eventId, resourceId: resource.id, searchId: search.id };
  })()`);
}

/** Until everything that the page asked for has come and been shown. */
export async function settled(page: Page): Promise<void> {
  await page.locator('h1, h2').first().waitFor();
  await page.waitForLoadState('networkidle');
  await page.locator('.skeleton, .animate-pulse').first().waitFor({ state: 'detached' });
}
