import type { Browser, BrowserContext, Page } from 'playwright-core';

/* Pages of people who have not been here before, of which few cost a process of the browser. */

const viewport = { width: 1440, height: 900 };
const locale = { locale: 'en-US', timezoneId: 'America/New_York' };

interface Visitors {
  /** A browser profile of its own. */
  context(): Promise<BrowserContext>;
  /** A page of a profile in which nothing of former visitors is left: in English, in New York. */
  page(): Promise<Page>;
  /** Ends every visit. */
  leave(): Promise<void>;
}

/**
 * Visitors of the service at `url`. A page whose visitor left is cleaned for the next one: a
 * process of the browser costs half a second, and loads and compiles the panel's program anew.
 */
export function visitors(
  browser: Browser,
  url: string,
  watch: (page: Page) => void = () => {},
): Visitors {
  const free: Page[] = [];
  const own: BrowserContext[] = [];
  let visited: Page[] = [];
  const context: Visitors['context'] = async () => {
    const opened = await browser.newContext({ ...locale, viewport, reducedMotion: 'reduce' });
    opened.setDefaultTimeout(300_000);
    opened.on('page', watch);
    own.push(opened);
    return opened;
  };
  return {
    context,
    async page() {
      const page = free.pop() ?? (await (await context()).newPage());
      visited.push(page);
      return page;
    },
    async leave() {
      const kept = visited.filter((page) => !page.isClosed());
      visited = [];
      const contexts = [...kept, ...free].map((page) => page.context());
      const ended = own.filter((each) => !contexts.includes(each));
      own.splice(0, own.length, ...contexts);
      await Promise.all([
        ...ended.map((each) => each.close()),
        ...kept.map((page) => clean(page, url)),
      ]);
      free.push(...kept);
    },
  };
}

/** Empties the profile, but for the program in the browser's cache. */
async function clean(page: Page, url: string): Promise<void> {
  const context = page.context();
  const others = context.pages().filter((each) => each !== page);
  await Promise.all(others.map((each) => each.close()));
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  await context.setOffline(false);
  await context.clearPermissions();
  await page.emulateMedia({ media: null, colorScheme: null });
  await page.setViewportSize(viewport);
  // A page of the service that runs no program, from where its storage can be reached.
  await page.goto(`${url}/healthz`);
  await page.evaluate('localStorage.clear(); sessionStorage.clear()');
  await context.clearCookies();
}
