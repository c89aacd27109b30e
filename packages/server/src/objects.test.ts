import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { openObjectStore } from './objects.ts';

const place = mkdtempSync(join(tmpdir(), 'indelible-objects-'));
afterAll(() => rmSync(place, { recursive: true }));

let stores = 0;
/** A store in a folder that does not exist yet. */
function newStore() {
  const folder = join(place, `deep/${stores++}`);
  return { folder, store: openObjectStore(pathToFileURL(folder).href) };
}
const bytes = (text: string) => new TextEncoder().encode(text);

test('an object is written once: what came first stays', async () => {
  const { store } = newStore();
  expect(await store.get('a/1')).toBeNull();
  expect(await store.putIfAbsent('a/1', bytes('first'))).toBe(true);
  expect(await store.putIfAbsent('a/1', bytes('second'))).toBe(false);
  expect(String(await store.get('a/1'))).toBe('first');
});

test('of many who write one name at once exactly one succeeds, and it is its object', async () => {
  const { store, folder } = newStore();
  const texts = Array.from({ length: 30 }, (_, n) => `body ${n} `.repeat(1_000));
  const won = await Promise.all(texts.map((text) => store.putIfAbsent('a/1', bytes(text))));
  expect(won.filter(Boolean)).toHaveLength(1);
  expect(String(await store.get('a/1'))).toBe(texts[won.indexOf(true)]);
  expect(readdirSync(join(folder, 'a'))).toEqual(['1']);
});

test('names are listed in order, without what is still being written', async () => {
  const { store, folder } = newStore();
  expect(await store.list('rounds')).toEqual([]);
  for (const name of ['rounds/3', 'rounds/1', 'other/9', 'rounds/2']) {
    await store.putIfAbsent(name, bytes(name));
  }
  writeFileSync(join(folder, 'rounds/4.0123456789ab.tmp'), 'half');
  expect(await store.list('rounds')).toEqual(['rounds/1', 'rounds/2', 'rounds/3']);
});

test('a name never leads out of the store', async () => {
  const { store } = newStore();
  for (const name of [
    '../x',
    'a/../../x',
    '/etc/x',
    'a//b',
    '',
    'a b',
    'a/..',
    'a\0b',
    'a\\..\\b',
  ]) {
    await expect(store.putIfAbsent(name, bytes('x')), name).rejects.toThrow('not an object name');
    await expect(store.get(name), name).rejects.toThrow('not an object name');
    await expect(store.list(name), name).rejects.toThrow('not an object name');
  }
  expect(readdirSync(place)).toEqual(['deep']);
});

test('a store that cannot be used fails each call, and serves again when it can', async () => {
  const { store, folder } = newStore();
  await store.putIfAbsent('a/1', bytes('first'));
  rmSync(join(folder, 'a'), { recursive: true });
  writeFileSync(join(folder, 'a'), 'a file where the folder was');
  await expect(store.putIfAbsent('a/2', bytes('second'))).rejects.toThrow();
  await expect(store.get('a/2')).rejects.toThrow();
  await expect(store.list('a')).rejects.toThrow();
  rmSync(join(folder, 'a'));
  expect(await store.putIfAbsent('a/2', bytes('second'))).toBe(true);
});

test('a write that fails leaves nothing behind', async () => {
  const { store, folder } = newStore();
  // A folder of the object's name: the draft is written, but cannot take that name.
  mkdirSync(join(folder, 'a/1'), { recursive: true });
  expect(await store.putIfAbsent('a/1', bytes('x'))).toBe(false);
  expect(readdirSync(join(folder, 'a'))).toEqual(['1']);
});

test('objects are for this account alone', async () => {
  const { store, folder } = newStore();
  await store.putIfAbsent('a/1', bytes('x'));
  expect(statSync(join(folder, 'a')).mode & 0o777).toBe(0o700);
  expect(statSync(join(folder, 'a/1')).mode & 0o777).toBe(0o600);
});

test('a store that is not known is refused by its protocol, without its secrets', () => {
  expect(() => openObjectStore('s3://key:secret@bucket/prefix')).toThrow(/OBJECT_STORE_URL.*s3:/);
  expect(() => openObjectStore('s3://key:secret@bucket/prefix')).not.toThrow(/secret/);
});
