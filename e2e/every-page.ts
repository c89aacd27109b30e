import type { Page } from 'playwright-core';
import { type PageName, pages } from '../packages/panel/src/pages/registry.ts';

/** The values of the parameters in the pages' addresses. */
export interface Shown {
  eventId: string;
  resourceId: string;
  searchId: string;
  viewId: string;
  webhookId: string;
}

/** Filters that make a page's lists short, or long enough. */
const queries: Partial<Record<PageName, string>> = {
  events: '?actor_type=agent&last=7d',
  event: '?actor_type=agent&last=7d',
  'operator-access': '?last=90d',
};

export const pageNames = Object.keys(pages) as PageName[];

/** A page's address with the parameters of `shown`. */
export function addressOf(name: PageName, shown: Shown): string {
  const path = pages[name].path.replace(/\$(\w+)/g, (_, parameter: keyof Shown) => {
    const value = shown[parameter];
    if (value === undefined) throw new Error(`${name}: no value for the parameter ${parameter}`);
    return value;
  });
  return path + (queries[name] ?? '');
}

/** What an assistant changed for a person, as the reader of `page` finds it. */
export function findChange(page: Page): Promise<Pick<Shown, 'eventId' | 'resourceId'>> {
  return page.evaluate<Pick<Shown, 'eventId' | 'resourceId'>>(`(async () => {
    const { data } = await (await fetch('/api/audit-logs?actor_type=agent&outcome=success&limit=1')).json();
    return { eventId: data[0].id, resourceId: data[0].resource.id };
  })()`);
}

/**
 * As the reader of `page`: keeps a search as evidence and as a view, makes an alert rule and an
 * export, and has events sent to two receivers of which one takes nothing.
 */
export function prepare(
  page: Page,
  receivers: { good: string; bad: string },
): Promise<Pick<Shown, 'searchId' | 'viewId' | 'webhookId'>> {
  return page.evaluate<Pick<Shown, 'searchId' | 'viewId' | 'webhookId'>>(`(async () => {
    const ask = async (path, body) => {
      const headers = { 'content-type': 'application/json' };
      const init = body && { method: 'POST', headers, body: JSON.stringify(body) };
      return (await fetch('/api' + path, init)).json();
    };
    const splunk = { format: 'splunk_hec', credential: crypto.randomUUID(), name: 'Splunk' };
    const own = { name: 'CRM', filters: { category: ['configuration', '!security'] } };
    const { id: webhookId } = await ask('/webhooks', { url: '${receivers.bad}', ...splunk });
    await ask('/webhooks', { url: '${receivers.good}', ...own });
    const paused = await ask('/webhooks', { url: '${receivers.good}', format: 'generic' });
    await ask('/webhooks/' + paused.id + '/pause', {});
    await ask('/webhooks/' + webhookId + '/test', {});
    const filters = { action: 'delete', resource: 'recording' };
    const search = await ask('/audit-logs/searches', { filters, note: 'Case 4711' });
    await fetch('/api/audit-logs/exports', {
      method: 'POST', headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ filters: { action: 'delete' }, format: 'csv' }),
    });
    await ask('/alert-rules', { name: '4711', kind: 'match', filters });
    const view = await ask('/views', { name: '4711', filters, last: '7d', shared: true });
    return { searchId: search.id, viewId: view.id, webhookId };
  })()`);
}

/** Until everything that the page asked for has come and been shown. */
export async function settled(page: Page): Promise<void> {
  await page.locator('h1, h2').first().waitFor();
  await page.waitForLoadState('networkidle');
  await page.locator('.skeleton, .animate-pulse').first().waitFor({ state: 'detached' });
}
