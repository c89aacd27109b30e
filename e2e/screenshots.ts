import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@indelible/client';
import { webhookReceiver } from '@indelible/testing/webhook-receiver';
import type { Page } from 'playwright-core';
import { platformKey as keyOf } from '../packages/cli/src/banner.ts';
import { demoTenants, loadDemo } from '../packages/cli/src/demo/load-demo.ts';
import { startService } from '../packages/server/src/main.ts';
import { builtPanel } from './built-panel.ts';
import { openChromium } from './chromium.ts';
import { addressOf, findChange, pageNames, prepare, type Shown, settled } from './every-page.ts';

/*
 * Takes the pictures of the panel: every page in light and on a phone,
 * in dark those whose colours say something. `npm run screenshots`
 */

const folder = join(import.meta.dirname, 'screenshots');
const [{ cast }] = demoTenants;
const { tenantId } = cast;
const person = {
  id: crypto.randomUUID(),
  email: 'dana.whitfield@aurora.example',
  role: 'admin',
} as const;
const looks = {
  light: { colorScheme: 'light', viewport: { width: 1280, height: 800 } },
  dark: { colorScheme: 'dark', viewport: { width: 1280, height: 800 } },
  phone: { colorScheme: 'light', viewport: { width: 360, height: 780 }, isMobile: true },
} as const;

const coloured = ['events', 'event', 'versions', 'sensitive-access', 'operator-access'];

await builtPanel();
const dataDir = await mkdtemp(join(tmpdir(), 'indelible-screenshots-'));
const env = { DATA_DIR: dataDir, PORT: '0', LOG_LEVEL: 'error', WEBHOOK_ALLOW_PRIVATE: 'true' };
const service = await startService(env);
const client = createClient({ url: service.url, key: keyOf(service, env) });
await loadDemo(client, Date.now());
const [good, bad] = [await webhookReceiver(), await webhookReceiver()];
bad.answers = [{ code: 503, text: '{"text":"Server is busy","code":9}' }];
const browser = await openChromium();
try {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const visits: Visit[] = [];
  const menus: Pick<Shown, 'eventId' | 'resourceId'>[] = [];
  for (const look of Object.keys(looks)) {
    const visitor = await visit(look as Look);
    visits.push(visitor);
    menus.push(await findChange(visitor.page));
    // Before anything is done that would stand above what the demonstration recorded.
    const list = '/settings/audit/events';
    await takeAll([visitor], { events: list, event: `${list}/${menus.at(-1)?.eventId}` });
  }
  const [first] = visits;
  const [menu] = menus;
  if (!first || !menu) throw new Error('no user is signed in');
  const made = await prepare(first.page, { good: good.url, bad: bad.url });
  await takeAll(visits, pathsOf({ ...menu, ...made }));
  console.log(`${(await readdir(folder)).length} pictures in ${folder}`);
} finally {
  await browser.close();
  await service.stop();
  await Promise.all([good.close(), bad.close()]);
  await rm(dataDir, { recursive: true, force: true });
}

type Look = keyof typeof looks;
type Visit = { look: Look; page: Page };

/** A signed-in user with this view of the panel. */
async function visit(look: Look): Promise<Visit> {
  const context = await browser.newContext({
    ...looks[look],
    locale: 'en-US',
    timezoneId: 'America/New_York',
    reducedMotion: 'reduce',
  });
  const page = await context.newPage();
  await page.goto((await client.viewerLinks.create({ tenantId, actor: person })).url);
  await page.locator('main#content').waitFor();
  return { look, page };
}

function pathsOf(shown: Shown): Record<string, string> {
  // A view shows its events.
  const others = pageNames.filter((name) => !['events', 'event', 'view'].includes(name));
  const paths = Object.fromEntries(others.map((name) => [name, addressOf(name, shown)]));
  return { ...paths, 'sensitive-access': '/settings/audit/sensitive-access' };
}

async function takeAll(visits: readonly Visit[], paths: Record<string, string>): Promise<void> {
  for (const { look, page } of visits) {
    for (const [name, path] of Object.entries(paths)) {
      if (look === 'dark' && !coloured.includes(name)) continue;
      await page.goto(new URL(path, service.url).href);
      await settled(page);
      await page.screenshot({ path: join(folder, `${name}-${look}.png`) });
    }
  }
}
