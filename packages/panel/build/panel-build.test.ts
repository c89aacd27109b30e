import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { builtPanel } from '../../../e2e/built-panel.ts';

/* The panel as it is served. Its build fails by itself if the first page needs too much script. */

await builtPanel();
const dist = join(import.meta.dirname, '..', 'dist');
const read = (path: string) => readFileSync(join(dist, path));
const html = read('index.html').toString();
const files = readdirSync(join(dist, 'assets'));
const textsOf = (paths: string[]) => paths.map((path) => read(path).toString());
const scripts = textsOf(files.filter((n) => n.endsWith('.js')).map((n) => `assets/${n}`));
/** The page names its program and all that this imports statically. */
const first = textsOf([...html.matchAll(/assets\/[\w.-]+\.js/g)].map(([path]) => path));

test('the program is that of production, also when a test runner builds it', () => {
  expect(first.length).toBeGreaterThan(1);
  // What React says of keys in development, and in no other build.
  const found = scripts.filter((code) => code.includes('Each child in a list should have'));
  expect(found).toEqual([]);
});

test('the code that checks proofs, and the pages about webhooks, load when they are asked for', () => {
  // A word that is hashed into every commitment, and an example of the webhook form.
  for (const text of ['audit-content/v1', 'https://collector.example.com/events']) {
    expect(scripts.filter((code) => code.includes(text)).length, text).toBeGreaterThan(0);
    expect(first.filter((code) => code.includes(text)).length, text).toBe(0);
  }
});

test('nothing is inline that the content security policy would stop', () => {
  expect(html).not.toMatch(/<script(?![^>]*\bsrc=)/);
  expect(html).not.toMatch(/<style|\sstyle=|\son\w+=/);
  expect(html).not.toMatch(/https?:\/\//);
});

test('every asset has its content in its name, and a compressed twin that is the same', () => {
  const assets = files.filter((name) => /\.(js|css)$/.test(name));
  expect(assets.length).toBeGreaterThan(10);
  for (const name of assets) {
    expect(name).toMatch(/-[\w-]{8}\.(js|css)$/);
    const asset = read(`assets/${name}`);
    expect(gunzipSync(read(`assets/${name}.gz`)).equals(asset)).toBe(true);
    expect(brotliDecompressSync(read(`assets/${name}.br`)).equals(asset)).toBe(true);
  }
});

test('no stylesheet or script fetches anything from elsewhere', () => {
  const sheets = files.filter((name) => name.endsWith('.css'));
  expect(sheets).not.toEqual([]);
  for (const css of textsOf(sheets.map((name) => `assets/${name}`))) {
    expect(css).not.toMatch(/url\(\s*["']?(https?:)?\/\//);
    expect(css).not.toContain('@import');
  }
});
