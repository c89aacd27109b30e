import { get, type IncomingMessage } from 'node:http';
import AxeBuilder from '@axe-core/playwright';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { demoTenants, loadDemo } from '../packages/cli/src/demo/load-demo.ts';
import { en, type Texts } from '../packages/panel/src/i18n/en.ts';
import { es } from '../packages/panel/src/i18n/es.ts';
import { ptBR } from '../packages/panel/src/i18n/pt-br.ts';
import { everyPage, prepare, settled } from './every-page.ts';
import { type OpenPanel, openPanel } from './open-panel.ts';
import { filters, rows, see } from './panel-page.ts';
import { textsOf, untranslated, wordsOf } from './spoken.ts';

/* What holds for every page, whoever reads it and on whatever screen. */

// The history of a clinic whose people speak Portuguese: nothing it holds is an English word.
const [, { cast } = { cast: undefined }] = demoTenants;
const tenantId = cast?.tenantId ?? '';
let panel: OpenPanel;
let pages: Record<string, string>;

// A browser shares its machine with whatever else is tested.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

beforeAll(async () => {
  panel = await openPanel();
  await loadDemo(panel.client, Date.now());
  await panel.client.tenants.put(tenantId, { locale: 'en' });
  const page = await panel.enter({ tenantId });
  pages = everyPage(await prepare(page));
  await page.context().close();
});
afterAll(() => panel?.close());
afterEach(() => expect(panel.troubles()).toEqual([]));

const enter = (settings = {}): Promise<Page> => panel.enter({ tenantId, settings });
const open = async (page: Page, path: string) => {
  await page.goto(panel.url + path);
  await settled(page);
};

test('the first page of events is there within a second, with at most 230 KiB of script', async () => {
  const visits = [await firstVisit(), await firstVisit(), await firstVisit()];
  const shownMs = Math.min(...visits.map((visit) => visit.shownMs));
  const scripts = visits[0]?.scripts ?? [];
  const sizes = await Promise.all(scripts.map(gzipBytes));
  const kib = sizes.reduce((sum, size) => sum + size, 0) / 1_024;
  console.log(`first events in ${Math.round(shownMs)} ms, ${kib.toFixed(1)} KiB of script (gzip)`);
  expect(scripts.length).toBeGreaterThan(0);
  expect(kib).toBeLessThanOrEqual(230);
  // The figure is for a machine that does nothing else.
  expect(shownMs).toBeLessThan(3_000);
});

/** Follows a link in a browser that has seen nothing yet; which scripts it fetched until all is quiet. */
async function firstVisit(): Promise<{ shownMs: number; scripts: string[] }> {
  const page = await (await panel.context()).newPage();
  const scripts: string[] = [];
  page.on('response', (answer) => {
    if (answer.request().resourceType() === 'script') scripts.push(answer.url());
  });
  const link = await panel.link({ tenantId });
  const startMs = performance.now();
  await page.goto(link);
  await rows(page).first().waitFor();
  const shownMs = performance.now() - startMs;
  await settled(page);
  await page.context().close();
  return { shownMs, scripts };
}

/** What crosses the wire to a browser that takes gzip and nothing better. */
async function gzipBytes(url: string): Promise<number> {
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    get(url, { headers: { 'accept-encoding': 'gzip' } }, resolve).on('error', reject);
  });
  expect(answer.headers['content-encoding']).toBe('gzip');
  let bytes = 0;
  for await (const chunk of answer) bytes += chunk.length;
  return bytes;
}

test('no page breaks a rule of accessibility, in light or in dark', async () => {
  const page = await enter();
  const broken: string[] = [];
  for (const [name, path] of Object.entries(pages)) {
    await open(page, path);
    broken.push(...(await violations(page, name)));
  }
  await open(page, '/settings/audit/events?action=no_such_thing');
  broken.push(...(await violations(page, 'nothing found')));
  await open(page, '/settings/audit/events?acton=delete');
  broken.push(...(await violations(page, 'bad search')));
  panel.allow(/^401 /);
  await page.context().clearCookies();
  await open(page, '/settings/audit/events');
  broken.push(...(await violations(page, 'signed out')));
  await open(page, '/enter');
  broken.push(...(await violations(page, 'spent link')));
  expect(broken).toEqual([]);
  await page.context().close();
});

test('nothing that opens over a page breaks one either', async () => {
  const page = await enter();
  await open(page, pages.events ?? '');
  const broken: string[] = [];
  const look = async (name: string, overlay = '[role=dialog]') => {
    await see(page.locator(overlay).first()).toBeVisible();
    broken.push(...(await violations(page, name, overlay)));
    await page.keyboard.press('Escape');
    await see(page.locator(overlay)).toHaveCount(0);
  };
  await page.keyboard.press('/');
  await look('palette');
  await page.keyboard.press('?');
  await look('help');
  for (const [name, label] of [
    ['filter', 'Action'],
    ['range', /^Time range/],
  ] as const) {
    await filters(page).getByRole('button', { name: label, exact: true }).click();
    await look(name);
  }
  await rows(page).first().locator('.value').first().click();
  await look('value menu', '[role=menu]');
  await rows(page).first().locator('time').hover();
  await look('moment', '.pop');
  await page.getByRole('button', { name: 'Save as evidence' }).click();
  await look('save evidence');
  await open(page, pages.versions ?? '');
  await page.getByRole('button', { name: 'Restore this version' }).first().click();
  await look('restore');
  expect(broken).toEqual([]);
  await page.context().close();
});

/** What axe finds in `within`: everything in light; in dark, where only colours differ, contrast. */
async function violations(page: Page, name: string, within = 'html'): Promise<string[]> {
  const found: string[] = [];
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    // There are no frames, so that axe needs no page of its own to put their results together.
    const axe = new AxeBuilder({ page }).setLegacyMode().include(within);
    axe.options({ resultTypes: ['violations'] });
    if (colorScheme === 'dark') axe.withRules('color-contrast');
    for (const { id, nodes } of (await axe.analyze()).violations) {
      found.push(
        `${name} (${colorScheme}): ${id} ${nodes.map(({ target }) => target).join(' | ')}`,
      );
    }
  }
  return found;
}

test('in Spanish and in Portuguese no text of any page is left in English', async () => {
  const page = await enter();
  const left: string[] = [];
  for (const [language, texts] of [
    ['es', es],
    ['pt-BR', ptBR],
  ] as const) {
    await open(page, pages.events ?? '');
    await page.getByTitle(/^(Language|Idioma)$/).selectOption(language);
    await see(page.locator('html')).toHaveAttribute('lang', language);
    for (const [name, path] of Object.entries(pages)) {
      await open(page, path);
      await see(page.getByRole('link', { name: texts.nav.integrity })).toBeVisible();
      left.push(...(await englishOn(page, `${language} ${name}`, texts)));
    }
    await open(page, '/settings/audit/events?action=no_such_thing');
    left.push(...(await englishOn(page, `${language} nothing found`, texts)));
    await page.keyboard.press('?');
    await page.getByRole('dialog').waitFor();
    left.push(...(await englishOn(page, `${language} help`, texts)));
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await filters(page, texts.filters.label).getByRole('button').first().click();
    await page.getByRole('grid').waitFor();
    const heard = await textsOf(page);
    expect(heard.filter((text) => /\b(Next|Previous|Today|selected)\b/.test(text))).toEqual([]);
    left.push(...(await englishOn(page, `${language} range`, texts)));
  }
  expect(left).toEqual([]);
  await page.context().close();
});

async function englishOn(page: Page, name: string, texts: Texts): Promise<string[]> {
  return untranslated(await textsOf(page), texts).map((text) => `${name}: ${text}`);
}

test('what the panel calls English on an English page is found to be English', async () => {
  const page = await enter();
  await settled(page);
  const found = untranslated(await textsOf(page), es);
  expect(found).toEqual(
    expect.arrayContaining(['Events', 'Operator access', 'Copy link', 'Recording']),
  );
  await page.context().close();
});

test('on a phone nothing is wider than the screen, and no word of the panel is cut off', async () => {
  const page = await enter({
    viewport: { width: 360, height: 740 },
    hasTouch: true,
    isMobile: true,
  });
  // What people have named may be cut, with an ellipsis; what the panel calls things may not.
  const words = wordsOf(en);
  const wrong: string[] = [];
  for (const [name, path] of Object.entries(pages)) {
    await open(page, path);
    const width = await page.evaluate('document.documentElement.scrollWidth');
    if (width !== 360) wrong.push(`${name}: ${width} px wide`);
    const cut = await cutOff(page);
    const own = cut.filter((text) => words.has(text));
    wrong.push(...own.map((text) => `${name}: ${text}`));
  }
  expect(wrong).toEqual([]);
  await page.context().close();
});

/** Texts of which a part lies outside of what shows them; what can be scrolled there is not cut off. */
function cutOff(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`(() => {
    const cut = new Set();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const range = document.createRange();
    while (walker.nextNode()) {
      const node = walker.currentNode;
      if (!node.data.trim()) continue;
      range.selectNodeContents(node);
      const { left, right, width } = range.getBoundingClientRect();
      let box = node.parentElement;
      while (box && width > 0) {
        const { overflowX } = getComputedStyle(box);
        const around = box.getBoundingClientRect();
        if (around.width <= 1 || overflowX === 'auto' || overflowX === 'scroll') break;
        const isEdge = box === document.body || overflowX !== 'visible';
        if (isEdge && (right > around.right + 1 || left < around.left - 1)) {
          cut.add(node.data.trim());
          break;
        }
        box = box.parentElement;
      }
    }
    return [...cut];
  })()`);
}
