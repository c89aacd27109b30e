import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { join } from 'node:path';
import { newFolder } from '@indelible/testing/folders';
import { hostCertificate } from '@indelible/testing/host-certificate';
import { serviceOn, testService } from '@indelible/testing/service';
import { jwtSecret, token } from '@indelible/testing/token';
import type { Frame, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sharedChromium } from './chromium.ts';
import { listening, openSite } from './site.ts';

/*
 * What a real browser makes of cookie, Origin and policies. The service is behind TLS, as off
 * loopback; the sites around it are not, which makes them other sites to a browser. The panel here
 * is the smallest page that signs in.
 */

const person = { id: randomUUID(), email: 'ana@example.com' };

const panelPage = '<!doctype html><title>Panel</title><script src="/assets/panel.js"></script>';
const panelScript = `
  const show = (text) => { document.title = text; document.body.textContent = text; };
  const json = async (answer) => show(answer.status + ' ' + ((await answer.json()).actor?.email ?? ''));
  const signIn = async ({ data }) => json(await fetch('/api/session', {
    method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(data),
  }));
  addEventListener('message', signIn);
  addEventListener('DOMContentLoaded', async () => json(await fetch('/api/session')));`;

const service = await testService();
const { id: tenantId } = await service.tenant();
const folder = newFolder();
const tls = createTlsServer(hostCertificate);
const tlsUrl = `https://${await listening(tls)}`;
const [host, stranger] = [await openSite(), await openSite()];
let behind: Awaited<ReturnType<typeof serviceOn>>;
const browser = await sharedChromium();

beforeAll(async () => {
  await mkdir(join(folder, 'assets'));
  await writeFile(join(folder, 'index.html'), panelPage);
  await writeFile(join(folder, 'assets/panel.js'), panelScript);
  const env = {
    PUBLIC_URL: tlsUrl,
    FRAME_ANCESTORS: host.url,
    AUTH_JWT_SECRET: jwtSecret,
  };
  behind = await serviceOn(service.servingUrl, service.clock, env, 3, {}, { panelFolder: folder });
  await behind.app.http.listen({ host: '127.0.0.1', port: 0 });
  const { port } = new URL(behind.app.http.listeningOrigin);
  tls.on('request', (incoming, response) => {
    const { method, url: path, headers } = incoming;
    const onward = request({ host: '127.0.0.1', port, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    incoming.pipe(onward);
  });
  const around = `<!doctype html><title>Host</title><iframe src="${env.PUBLIC_URL}/enter"></iframe>`;
  for (const { site } of [host, stranger]) {
    site.on('request', (_, response) =>
      response.setHeader('content-type', 'text/html').end(around),
    );
  }
});

afterAll(async () => {
  await behind.app.http.close();
  await behind.db.close();
});

async function newPage(): Promise<Page> {
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  return context.newPage();
}

const adminToken = () =>
  token({ sub: person.id, email: person.email, role: 'admin', tenantId }, service.clock.now);

const says = (where: Page | Frame) => expect.poll(() => where.textContent('body').catch(() => ''));
const panelIn = (page: Page) => says(page.frames()[1] ?? page);

/** What a page of its own does with a token it was handed. */
async function signInAlone(page: Page): Promise<void> {
  await page.goto(`${tlsUrl}/settings/audit/events`);
  await says(page).toBe('401 ');
  await page.evaluate(`postMessage(${JSON.stringify({ jwt: await adminToken() })})`);
  await says(page).toBe(`200 ${person.email}`);
}

test('in a frame of a named site a person signs in and stays so, for that site alone', async () => {
  const page = await newPage();
  await page.goto(host.url);
  await panelIn(page).toBe('401 ');
  const message = JSON.stringify({ jwt: await adminToken() });
  await page.evaluate(`frames[0].postMessage(${message}, '${tlsUrl}')`);
  await panelIn(page).toBe(`200 ${person.email}`);
  await page.reload();
  await panelIn(page).toBe(`200 ${person.email}`);
  // The browser keeps this session for the embedding site: as a page of its own there is none.
  await page.goto(`${tlsUrl}/settings/audit/events`);
  await says(page).toBe('401 ');
  await page.context().close();
});

test('a cookie from before the panel could be embedded does not get in the way', async () => {
  const page = await newPage();
  const kept = { name: '__Host-indelible_session', value: 'x'.repeat(43), path: '/' };
  const attributes = { httpOnly: true, secure: true, sameSite: 'Strict' } as const;
  await page.context().addCookies([{ ...kept, ...attributes, domain: '127.0.0.1' }]);
  await signInAlone(page);
  await page.reload();
  await says(page).toBe(`200 ${person.email}`);
  await page.context().close();
});

test('a site that is not named can neither show the panel, nor read with its cookie, nor write', async () => {
  const page = await newPage();
  await signInAlone(page);
  const [cookie] = await page.context().cookies();
  expect(cookie).toMatchObject({ name: '__Host-indelible_embedded', httpOnly: true, secure: true });
  const foreign = await page.context().newPage();
  await foreign.goto(stranger.url);
  await expect.poll(() => foreign.frames()[1]?.url()).toBe('chrome-error://chromewebdata/');
  const tries = await foreign.evaluate(async (url) => {
    const attempt = (init: RequestInit) =>
      fetch(url, { credentials: 'include', ...init }).then(
        ({ type, status }) => `${type} ${status}`,
        () => 'refused',
      );
    const json = { 'content-type': 'application/json' };
    return [
      await attempt({}),
      await attempt({ method: 'DELETE' }),
      await attempt({ method: 'POST', headers: json, body: '{}' }),
      await attempt({ method: 'POST', mode: 'no-cors', body: '{}' }),
    ];
  }, `${tlsUrl}/api/session`);
  // The last one is sent without asking first; what it could have done is seen below.
  expect(tries).toEqual(['refused', 'refused', 'refused', 'refused']);
  await page.reload();
  await says(page).toBe(`200 ${person.email}`);
  await page.context().close();
});
