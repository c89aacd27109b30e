import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { newFolder } from '@indelible/testing/folders';
import { serviceOn, testService } from '@indelible/testing/service';
import { afterAll, expect, test } from 'vitest';
import type { App } from '../app.ts';

const html =
  '<!doctype html><title>Panel</title><script type="module" src="/assets/a.js"></script>';
const script = `export const text = '${'panel '.repeat(2_000)}';`;

const opened: Awaited<ReturnType<typeof serviceOn>>[] = [];

const service = await testService();
const folder = newFolder();
await mkdir(join(folder, 'assets/inner'), { recursive: true });
await writeFile(join(folder, 'index.html'), html);
await writeFile(join(folder, 'secret.txt'), 'not an asset');
const assets: [string, string | Buffer][] = [
  ['plain-1a2b.js', script],
  ['packed-1a2b.js', script],
  ['packed-1a2b.js.br', brotliCompressSync(script)],
  ['packed-1a2b.js.gz', gzipSync(script)],
  ['style-1a2b.css', 'body{}'],
  ['inner/deep.js', script],
];
for (const [name, text] of assets) await writeFile(join(folder, 'assets', name), text);
afterAll(async () => {
  for (const { close } of opened) await close();
});

async function serve(frameAncestors?: string, panelFolder = folder): Promise<App> {
  const env = frameAncestors === undefined ? {} : { FRAME_ANCESTORS: frameAncestors };
  const { servingUrl, clock } = service;
  const one = await serviceOn(servingUrl, clock, env, 2, {}, { panelFolder });
  opened.push(one);
  return one.app;
}

const get = (app: App, url: string, headers: Record<string, string> = {}) =>
  app.http.inject({ url, headers });

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
  "font-src 'self'; connect-src 'self'; base-uri 'none'; object-src 'none'; form-action 'self'; " +
  'frame-ancestors ';

test('every page of the panel is the same, is not kept, and runs nothing but its own files', async () => {
  const app = await serve();
  for (const url of [
    '/enter',
    '/settings/audit',
    '/settings/audit/events?action=delete',
    '/settings/audit/events/evt_audit_01k47h5550fb39eqm1pvbfw85g',
    '/settings/audit/%3Cscript%3E/..%2f..%2fetc',
  ]) {
    const { statusCode, headers, body } = await get(app, url);
    expect([statusCode, body]).toEqual([200, html]);
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'content-security-policy': `${policy}'none'`,
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'permissions-policy': expect.stringContaining('camera=()'),
    });
  }
  const { statusCode, headers } = await get(app, '/');
  expect([statusCode, headers.location]).toEqual([302, '/settings/audit/events']);
  const posted = await app.http.inject({ method: 'POST', url: '/enter' });
  expect(posted.statusCode).toBe(405);
});

test('the documentation of the API has the same policy, which asks for no https', async () => {
  const { statusCode, headers } = await get(await serve('https://app.example.com'), '/docs');
  expect([statusCode, headers['content-security-policy']]).toEqual([200, `${policy}'none'`]);
});

test('only the origins in FRAME_ANCESTORS may embed the panel and hand over tokens', async () => {
  const app = await serve("'self' https://app.example.com https://app.example.net:8443");
  const { headers } = await get(app, '/enter');
  expect(headers['content-security-policy']).toBe(
    `${policy}'self' https://app.example.com https://app.example.net:8443`,
  );
  // The older header cannot name them, and browsers that heed it would show nothing.
  expect(headers).not.toHaveProperty('x-frame-options');
  const config = await get(app, '/api/panel-config');
  expect(config.json()).toEqual({
    frameAncestors: [
      'http://127.0.0.1:3000',
      'https://app.example.com',
      'https://app.example.net:8443',
    ],
    signInUrl: null,
    version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
  });
  const nobody = await get(await serve(), '/api/panel-config');
  expect(nobody.json().frameAncestors).toEqual([]);
});

test('assets are kept for a year, because their names change with their content', async () => {
  const app = await serve();
  const { statusCode, headers, body } = await get(app, '/assets/style-1a2b.css');
  expect([statusCode, body]).toEqual([200, 'body{}']);
  expect(headers['cache-control']).toBe('public, max-age=31536000, immutable');
  expect(headers['content-type']).toBe('text/css; charset=utf-8');
  expect(headers['x-content-type-options']).toBe('nosniff');
});

test('an asset comes as the build has compressed it, for a browser that takes that', async () => {
  const app = await serve();
  const unpack = { br: brotliDecompressSync, gzip: gunzipSync };
  for (const encoding of ['br', 'gzip'] as const) {
    const headers = { 'accept-encoding': encoding };
    const answer = await get(app, '/assets/packed-1a2b.js', headers);
    expect(answer.headers['content-encoding']).toBe(encoding);
    expect(String(answer.headers.vary).toLowerCase()).toContain('accept-encoding');
    expect(answer.headers['content-type']).toMatch(/javascript/);
    expect(answer.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    expect(unpack[encoding](answer.rawPayload).toString()).toBe(script);
    const plain = await get(app, '/assets/plain-1a2b.js', headers);
    expect([plain.headers['content-encoding'], plain.body]).toEqual([undefined, script]);
  }
  expect((await get(app, '/assets/packed-1a2b.js')).body).toBe(script);
});

test('nothing but the files of the assets is served, however it is asked for', async () => {
  const app = await serve();
  for (const url of [
    ...['/assets/missing.js', '/assets/', '/assets/..%2fsecret.txt', '/assets/%2e%2e%2fsecret.txt'],
    ...['/assets/..%5csecret.txt', '/assets/.hidden', '/assets/inner', '/assets/inner%2fdeep.js'],
    ...['/assets/inner/deep.js', '/assets/plain-1a2b.js%00.css', '/secret.txt', '/index.html'],
  ]) {
    const { statusCode, body, headers } = await get(app, url);
    expect(statusCode, url).toBe(404);
    expect(body).not.toContain('not an asset');
    expect(headers['cache-control'] ?? '', url).not.toContain('immutable');
  }
});

test('a path that a client did not tidy up leads out of the assets no more than others', async () => {
  const app = await serve();
  await app.http.listen({ host: '127.0.0.1', port: 0 });
  const { port } = new URL(app.http.listeningOrigin);
  for (const path of [
    '/assets/..',
    '/assets/../secret.txt',
    '/assets//secret.txt',
    '//secret.txt',
  ]) {
    const [answer] = await once(request({ host: '127.0.0.1', port, path }).end(), 'response');
    answer.resume();
    expect(answer.statusCode, path).toBe(404);
  }
});

test('a panel that is not built says how to build it, and is there as soon as it is', async () => {
  const empty = await mkdtemp(join(tmpdir(), 'indelible-unbuilt-'));
  const app = await serve(undefined, join(empty, 'dist'));
  const missing = await get(app, '/settings/audit/events');
  expect(missing.statusCode).toBe(503);
  expect(missing.body).toContain('npm run build');
  expect(missing.headers['content-type']).toBe('text/plain; charset=utf-8');
  expect((await get(app, '/assets/a.js')).statusCode).toBe(404);
  await mkdir(join(empty, 'dist/assets'), { recursive: true });
  await writeFile(join(empty, 'dist/index.html'), html);
  await writeFile(join(empty, 'dist/assets/a.js'), script);
  expect((await get(app, '/settings/audit/events')).body).toBe(html);
  expect((await get(app, '/assets/a.js')).body).toBe(script);
  await rm(empty, { recursive: true });
});
