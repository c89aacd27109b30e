import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@indelible/client';
import type { Page } from 'playwright-core';
import { demoTenants, loadDemo } from '../packages/cli/src/demo/load-demo.ts';
import { platformKey as keyOf } from '../packages/cli/src/panel-link.ts';
import { startService } from '../packages/server/src/main.ts';
import { builtPanel } from './built-panel.ts';
import { openChromium } from './chromium.ts';
import { everyPage, prepare, settled } from './every-page.ts';

/* Takes the pictures of the panel: every page in light, in dark, and on a phone. `npm run screenshots` */

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
  phone: { colorScheme: 'light', viewport: { width: 390, height: 844 }, isMobile: true },
} as const;

await builtPanel();
const dataDir = await mkdtemp(join(tmpdir(), 'indelible-screenshots-'));
const env = { DATA_DIR: dataDir, PORT: '0', LOG_LEVEL: 'error', WEBHOOK_ALLOW_PRIVATE: 'true' };
const service = await startService(env);
const client = createClient({ url: service.url, key: keyOf(service, env) });
await loadDemo(client, Date.now());
const browser = await openChromium();
try {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  let pages: Record<string, string> | undefined;
  for (const [look, settings] of Object.entries(looks)) {
    const context = await browser.newContext({
      ...settings,
      locale: 'en-US',
      timezoneId: 'America/New_York',
      reducedMotion: 'reduce',
    });
    const page = await context.newPage();
    await page.goto((await client.viewerLinks.create({ tenantId, actor: person })).url);
    await page.locator('main#content').waitFor();
    pages ??= pagesOf(await prepare(page));
    for (const [name, path] of Object.entries(pages)) await take(page, `${name}-${look}`, path);
    await context.close();
  }
  console.log(`${(await readdir(folder)).length} pictures in ${folder}`);
} finally {
  await browser.close();
  await service.stop();
  await rm(dataDir, { recursive: true, force: true });
}

function pagesOf(shown: Parameters<typeof everyPage>[0]): Record<string, string> {
  const events = '/settings/audit/events';
  return { ...everyPage(shown), events, event: `${events}/${shown.eventId}` };
}

async function take(page: Page, name: string, path: string): Promise<void> {
  await page.goto(new URL(path, service.url).href);
  await settled(page);
  await page.screenshot({ path: join(folder, `${name}.png`) });
}
