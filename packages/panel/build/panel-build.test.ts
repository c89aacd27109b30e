import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { build, type Rolldown } from 'vite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { firstLoadBytes, firstLoadCode, firstLoadMax } from './first-load.ts';

/* The panel as it is served. */

let outDir: string;
let bundle: Rolldown.RolldownOutput;

beforeAll(async () => {
  outDir = await mkdtemp(join(tmpdir(), 'indelible-panel-'));
  const configFile = join(import.meta.dirname, '..', 'vite.config.ts');
  const built = await build({
    configFile,
    logLevel: 'silent',
    build: { outDir, emptyOutDir: true },
  });
  [bundle] = [built].flat() as [Rolldown.RolldownOutput];
});

afterAll(() => rm(outDir, { recursive: true, force: true }));

test('the first page needs at most 230 KiB of script, compressed, also when a test runner builds it', () => {
  const outputs = Object.fromEntries(bundle.output.map((output) => [output.fileName, output]));
  const bytes = firstLoadBytes(outputs);
  expect(bytes).toBeGreaterThan(50 * 1024);
  expect(bytes).toBeLessThanOrEqual(firstLoadMax);
  // What React says of keys in development, and in no other build.
  const all = bundle.output.flatMap((output) => (output.type === 'chunk' ? [output.code] : []));
  expect(all.filter((code) => code.includes('Each child in a list should have'))).toEqual([]);
});

test('what checks proofs, and the pages about webhooks, come when they are asked for', () => {
  const outputs = Object.fromEntries(bundle.output.map((output) => [output.fileName, output]));
  const first = firstLoadCode(outputs);
  const all = bundle.output.flatMap((output) => (output.type === 'chunk' ? [output.code] : []));
  // A word that is hashed into every commitment, and an example of the webhook form.
  for (const text of ['audit-content/v1', 'https://collector.example.com/events']) {
    expect(all.filter((code) => code.includes(text)).length, text).toBeGreaterThan(0);
    expect(first.filter((code) => code.includes(text)).length, text).toBe(0);
  }
});

test('nothing is inline that the content security policy would stop', () => {
  const html = readFileSync(join(outDir, 'index.html'), 'utf8');
  expect(html).not.toMatch(/<script(?![^>]*\bsrc=)/);
  expect(html).not.toMatch(/<style|\sstyle=|\son\w+=/);
  expect(html).not.toMatch(/https?:\/\//);
});

test('every asset has its content in its name, and a compressed twin that is the same', () => {
  const files = readdirSync(join(outDir, 'assets'));
  const assets = files.filter((name) => /\.(js|css)$/.test(name));
  expect(assets.length).toBeGreaterThan(10);
  for (const name of assets) {
    expect(name).toMatch(/-[\w-]{8}\.(js|css)$/);
    const read = (ending: string) => readFileSync(join(outDir, 'assets', `${name}${ending}`));
    expect(gunzipSync(read('.gz')).equals(read(''))).toBe(true);
    expect(brotliDecompressSync(read('.br')).equals(read(''))).toBe(true);
  }
});

test('no stylesheet or script fetches anything from elsewhere', () => {
  for (const output of bundle.output) {
    if (!output.fileName.endsWith('.css')) continue;
    const css = output.type === 'asset' ? String(output.source) : output.code;
    expect(css).not.toMatch(/url\(\s*["']?(https?:)?\/\//);
    expect(css).not.toContain('@import');
  }
});
