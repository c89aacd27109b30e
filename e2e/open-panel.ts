import { randomUUID } from 'node:crypto';
import { createClient, type EventInput, type IndelibleClient } from '@indelible/client';
import { eventOf, platformKey, type TestService, testService } from '@indelible/testing/service';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterEach, expect } from 'vitest';
import { builtPanel } from './built-panel.ts';
import { sharedChromium } from './chromium.ts';
import { visitors } from './visitors.ts';

export interface Person {
  id: string;
  email: string;
  role: 'admin' | 'superadmin';
}

export const admin: Person = { id: randomUUID(), email: 'ana@example.com', role: 'admin' };
export const operator: Person = {
  id: randomUUID(),
  email: 'olga@operator.example',
  role: 'superadmin',
};

export interface Visit {
  tenantId: string;
  /** `admin` unless told otherwise. */
  person?: Person;
  reason?: string;
  /** Which page the link opens. */
  path?: string;
  /** Where the visitor is signed in already; a profile of their own unless told otherwise. */
  context?: BrowserContext;
}

/** The real service with the built panel on a port of its own, and a browser in front of it. */
export interface OpenPanel {
  url: string;
  service: TestService;
  browser: Browser;
  /** With the platform's key. */
  client: IndelibleClient;
  /** Registers a tenant and gives back its id. */
  newTenant(name: string): Promise<string>;
  /** Records events with these members and gives back their ids. */
  record(tenantId: string, changes: readonly Record<string, unknown>[]): Promise<string[]>;
  /** A link that opens the panel once. */
  link(visit: Visit): Promise<string>;
  /** A browser profile of its own. Its pages are watched, as all are. */
  context(): Promise<BrowserContext>;
  /** A page of a person who has not been here before. */
  page(): Promise<Page>;
  /** Follows a new viewer link; the page is signed in. */
  enter(visit: Visit): Promise<Page>;
  /** From here on the service's clock is ahead by so much more. */
  later(ms: number): void;
  /** Stops listening and cuts connections; the returned function listens again. */
  goAway(): Promise<() => Promise<void>>;
  /** Until the end of the test these answers and console messages are right. */
  allow(expected: RegExp): void;
}

/**
 * `env` as in production; the panel is built first if it has to be. Every test must end without
 * troubles, and ends every visit unless `visitsStay`.
 */
export async function openPanel(
  env: Record<string, string> = {},
  { visitsStay = false } = {},
): Promise<OpenPanel> {
  await builtPanel();
  const [service, browser] = await Promise.all([testService(env), sharedChromium()]);
  let aheadMs = 0;
  Object.defineProperty(service.clock, 'now', { get: () => Date.now() + aheadMs });
  const { http } = service.app;
  const url = await http.listen({ host: '127.0.0.1', port: 0 });
  const client = createClient({ url, key: platformKey });
  const watch = watcher();
  const people = visitors(browser, url, watch.page);
  afterEach(async () => {
    if (!visitsStay) await people.leave();
    expect(watch.troubles()).toEqual([]);
  });
  const link: OpenPanel['link'] = async ({ tenantId, person = admin, reason, path }) => {
    const asked = { ...(reason && { reason }), ...(path && { path }) };
    return (await client.viewerLinks.create({ tenantId, actor: person, ...asked })).url;
  };
  return {
    url,
    service,
    browser,
    client,
    newTenant: async (name) => {
      const id = randomUUID();
      await client.tenants.put(id, { name, plan: 'Enterprise' });
      return id;
    },
    record: async (tenantId, changes) => {
      const events = changes.map((change) => ({ tenantId, ...eventOf(change) }) as EventInput);
      const results = await client.recordBatch(events);
      const refused = results.filter(({ status }) => status !== 'created');
      if (refused.length > 0) throw new Error(JSON.stringify(refused));
      return results.map(({ id }) => id ?? '');
    },
    link,
    context: people.context,
    page: people.page,
    enter: async (visit) => {
      const page = await (visit.context?.newPage() ?? people.page());
      await page.goto(await link(visit));
      await page.locator('main#content').waitFor();
      return page;
    },
    later: (ms) => {
      aheadMs += ms;
    },
    goAway: () => goAway(http.server, Number(new URL(url).port)),
    allow: watch.allow,
  };
}

/**
 * Hears everything that a page must not meet: refused answers, errors, broken policies, dialogs.
 */
function watcher() {
  let seen: string[] = [];
  let allowed: RegExp[] = [];
  return {
    page(page: Page) {
      page.on('console', (message) => {
        // What the network refused is heard of as an answer, with its address.
        const isAnswer = /^Failed to load resource: the server responded/.test(message.text());
        if (message.type() === 'error' && !isAnswer) seen.push(`console: ${message.text()}`);
      });
      page.on('pageerror', (error) => seen.push(`error: ${error.message}`));
      page.on('dialog', (dialog) => {
        seen.push(`dialog: ${dialog.message()}`);
        void dialog.dismiss();
      });
      page.on('response', (answer) => {
        if (answer.status() < 400) return;
        seen.push(`${answer.status()} ${new URL(answer.url()).pathname}`);
      });
    },
    allow: (expected: RegExp) => void allowed.push(expected),
    troubles() {
      const found = seen.filter((text) => !allowed.some((expected) => expected.test(text)));
      [seen, allowed] = [[], []];
      return found;
    },
  };
}

async function goAway(server: TestService['app']['http']['server'], port: number) {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
  return () => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
}
