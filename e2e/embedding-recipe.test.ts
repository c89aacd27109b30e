import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { EventInput } from '@indelible/client';
import { blocksOf } from '@indelible/testing/recipe-project';
import { eventOf } from '@indelible/testing/service';
import { jwtSecret, token } from '@indelible/testing/token';
import type { Page } from 'playwright-core';
import { build, type Rolldown } from 'vite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { admin, openPanel } from './open-panel.ts';
import { see } from './panel-page.ts';
import { openSite } from './site.ts';

/*
 * The programs of docs/recipes/embedding.md, as they stand there, on a page of another origin with
 * the real panel in its frame.
 */

const root = join(import.meta.dirname, '..');
const scripts = new Map<string, string>();
const { site: host, url: hostUrl } = await openSite();
const panel = await openPanel({ FRAME_ANCESTORS: hostUrl, AUTH_JWT_SECRET: jwtSecret });
const { id: tenantId } = await panel.service.tenant();
await panel.client.record({ tenantId, ...eventOf() } as EventInput);
// Below the checkout, so that React is found.
await mkdir(join(root, '.cache'), { recursive: true });
const folder = await mkdtemp(join(root, '.cache/embedding-'));
afterAll(() => rm(folder, { recursive: true }));
await mkdir(join(folder, 'node_modules'));
await symlink(join(root, 'node_modules/@indelible'), join(folder, 'node_modules/@indelible'));
beforeAll(async () => {
  const [plain, react] = blocksOf('embedding').map(({ code }) => code);
  scripts.set('/plain.js', await bundle('audit.ts', `${plain}Object.assign(window, { panel });`));
  await writeFile(join(folder, 'audit-page.tsx'), localized(react ?? ''));
  scripts.set('/react.js', await bundle('start.tsx', startReact));
  host.on('request', async ({ url = '' }, response) => {
    const script = scripts.get(url);
    response.setHeader('content-type', script === undefined ? 'text/html' : 'text/javascript');
    response.end(script ?? (url === '/audit-token' ? await adminToken() : pageOf(url)));
  });
});

const startReact = `
  import { createElement } from 'react';
  import { createRoot } from 'react-dom/client';
  import { AuditPage } from './audit-page.tsx';
  createRoot(document.body).render(createElement(AuditPage, { dark: true }));`;

const localized = (code: string) => code.replaceAll('https://audit.example.com', panel.url);

const pageOf = (url: string) => `<!doctype html><title>Host</title>
  <body><iframe id="audit" title="Audit log" allow="clipboard-write"></iframe>
  <script type="module" src="${url === '/react' ? '/react.js' : '/plain.js'}"></script>`;

async function bundle(file: string, code: string): Promise<string> {
  const entry = join(folder, file);
  await writeFile(entry, localized(code));
  const built = await build({
    configFile: false,
    logLevel: 'silent',
    root: folder,
    oxc: { jsx: { runtime: 'automatic', development: false } },
    define: { 'process.env.NODE_ENV': '"production"' },
    build: { write: false, lib: { entry, formats: ['es'], fileName: 'host' } },
  });
  const [output] = [built].flat() as Rolldown.RolldownOutput[];
  return output?.output[0].code ?? '';
}

const adminToken = () => token({ sub: admin.id, email: admin.email, role: admin.role, tenantId });

/** A page of the host, whose panel needs a session first: an answer 401. */
async function hostPage(path: string): Promise<Page> {
  panel.allow(/^401 \/api\/session$/);
  const page = await (await panel.context()).newPage();
  await page.goto(hostUrl + path);
  return page;
}

const inFrame = (page: Page) => page.frameLocator('iframe');
const styleOf = (page: Page, selector: string, name: string) =>
  inFrame(page)
    .locator(selector)
    .first()
    .evaluate((element, property) => getComputedStyle(element).getPropertyValue(property), name);

test('in a page of another origin the panel is signed in, looks like it, is as high, and stays where it was', async () => {
  const page = await hostPage('/');
  const frame = inFrame(page);
  await see(frame.getByRole('heading', { name: 'Eventos' })).toBeVisible();
  await see(frame.getByRole('navigation', { name: /Configurações|Auditoria/ })).toHaveCount(0);
  await see(frame.getByRole('link', { name: 'Integridade' })).toHaveCount(0);
  // Without navigation and settings, the list alone says in which zone its times are.
  await see(frame.locator('th[scope=rowgroup]').first()).toHaveText(/20\d\d UTC$/);
  expect(await styleOf(page, 'html', '--color-accent')).toBe('light-dark(#7a1fa2, #e0b0ff)');
  expect(await styleOf(page, 'button.btn', 'border-radius')).toBe('4px');
  expect(await styleOf(page, 'html', 'font-family')).toMatch(/^Georgia/);
  const heights = () =>
    page.evaluate(`[frames.length, document.querySelector('iframe').offsetHeight]`);
  const inner = await frame.locator('#panel').evaluate((element) => element.clientHeight);
  await see.poll(heights).toEqual([1, expect.closeTo(inner, -1)]);

  await frame.getByRole('link', { name: /Abrir/ }).first().click();
  await see(frame.getByRole('region', { name: 'Evento', exact: true })).toBeVisible();
  const place = () => page.evaluate<string>(`sessionStorage.getItem('audit-place')`);
  await see.poll(place).toMatch(/events\/evt_audit_/);
  await page.reload();
  await see(frame.getByRole('region', { name: 'Evento', exact: true })).toBeVisible();
  await page.evaluate(`panel.go('/settings/audit/integrity')`);
  await see(frame.getByRole('heading', { name: 'Integridade' })).toBeVisible();
  await page.evaluate(`panel.go('//evil.example/settings/audit/events')`);
  // Another frame of the host's origin is not the page around the panel.
  await page.evaluate(`{
    const other = document.body.appendChild(document.createElement('iframe'));
    other.contentWindow.eval("parent.frames[0].postMessage({type: 'indelible:go', path: '/settings/audit/exports'}, '*')");
    other.remove();
  }`);
  await page.evaluate(`panel.wear({ accent: { light: 'red;}', dark: '#e0b0ff' }, radius: 9 })`);
  await page.evaluate(`panel.wear({ theme: 'dark' })`);
  await see(frame.locator('html')).toHaveAttribute('data-theme', 'dark');
  expect(await styleOf(page, 'html', '--radius-lg')).toBe('4px');
  expect(await styleOf(page, 'html', '--color-accent')).toBe('light-dark(#7a1fa2, #e0b0ff)');
  await see.poll(place).toBe('/settings/audit/integrity');
});

test('the component of React shows the panel, opens a page by its path, and keeps the place', async () => {
  const page = await hostPage('/react');
  const frame = inFrame(page);
  await see(frame.getByRole('heading', { name: 'Events', exact: true })).toBeVisible();
  await see(frame.locator('html')).toHaveAttribute('data-theme', 'dark');
  await page.getByRole('button', { name: 'Integrity' }).click();
  await see(frame.getByRole('heading', { name: 'Integrity' })).toBeVisible();
  await page.reload();
  await see(frame.getByRole('heading', { name: 'Integrity' })).toBeVisible();
});
