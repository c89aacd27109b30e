import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { newFolder } from '@indelible/testing/folders';
import { objectOf } from '@indelible/testing/object-of';
import { startS3Server } from '@indelible/testing/s3-server';
import { describe, expect, test } from 'vitest';
import { openObjectStore } from './open-store.ts';

/* What every store promises. What only one of them can do is in objects/. */

const baseFolder = newFolder();
const s3 = await startS3Server();

let folders = 0;
const fileUrl = async () => pathToFileURL(join(baseFolder, `deep/${folders++}`)).href;

const bytes = (text: string) => new TextEncoder().encode(text);
async function* chunks(...parts: (Uint8Array | string)[]) {
  for (const part of parts) yield typeof part === 'string' ? bytes(part) : part;
}
const textOf = async (found: { body: Readable } | null) =>
  found && Buffer.concat(await found.body.toArray()).toString();

describe.each([
  ['file', fileUrl],
  ['s3', () => s3.newUrl()],
])('a %s store', (kind, newUrl) => {
  const newStore = async () => {
    const store = openObjectStore(await newUrl());
    await store.create();
    return store;
  };

  test('keeps what came first under a name', async () => {
    const store = await newStore();
    expect(await objectOf(store, 'a/1')).toBeNull();
    expect(await store.getStream('a/1')).toBeNull();
    expect(await store.putIfAbsent('a/1', bytes('first'))).toBe(true);
    expect(await store.putIfAbsent('a/1', bytes('second'))).toBe(false);
    expect(await store.putIfAbsent('a/1', bytes('first'))).toBe(false);
    expect(String(await objectOf(store, 'a/1'))).toBe('first');
  });

  test('lets exactly one of many who write a name at once succeed, and keeps its object', async () => {
    const store = await newStore();
    const texts = Array.from({ length: 20 }, (_, n) => `body ${n} `.repeat(1_000));
    const won = await Promise.all(texts.map((text) => store.putIfAbsent('a/1', bytes(text))));
    expect(won.filter(Boolean)).toHaveLength(1);
    expect(String(await objectOf(store, 'a/1'))).toBe(texts[won.indexOf(true)]);
    expect(await store.list('a')).toEqual(['a/1']);
  });

  test('takes a stream of 20 MiB in pieces of any size and gives back the same bytes', async () => {
    const store = await newStore();
    const [sent, received] = [createHash('sha256'), createHash('sha256')];
    async function* source() {
      const sizes = [0, 1, 65_536, 7, 1_000_003];
      for (let left = 20 * 2 ** 20, n = 0; left > 0; n++) {
        const chunk = Buffer.alloc(Math.min(left, sizes[n % sizes.length] ?? 1), n);
        left -= chunk.length;
        sent.update(chunk);
        yield chunk;
      }
    }
    expect(await store.putStream('big', source())).toEqual({ bytes: 20 * 2 ** 20 });
    const found = await store.getStream('big');
    expect(found?.bytes).toBe(20 * 2 ** 20);
    for await (const chunk of found?.body ?? []) received.update(chunk);
    expect(received.digest('hex')).toBe(sent.digest('hex'));
  });

  test('puts a stream in place of an earlier object, an empty one too', async () => {
    const store = await newStore();
    await store.putStream('a', chunks('the earlier one'));
    expect(await store.putStream('a', chunks('later', ' one'))).toEqual({ bytes: 9 });
    expect(String(await objectOf(store, 'a'))).toBe('later one');
    expect(await store.putStream('a', chunks())).toEqual({ bytes: 0 });
    const found = await store.getStream('a');
    expect({ bytes: found?.bytes, text: await textOf(found) }).toEqual({ bytes: 0, text: '' });
    expect(await store.putIfAbsent('a', bytes('x'))).toBe(false);
  });

  /** Small and large differ on S3: one request, or one for each part. */
  const sizes = { small: [10], large: [9 * 2 ** 20, 9 * 2 ** 20] };

  test.each(Object.entries(sizes))(
    'keeps nothing of a %s stream whose source fails, and shows nothing before',
    async (_, lengths) => {
      const store = await newStore();
      await store.putStream('b', chunks('earlier'));
      for (const name of ['a', 'b']) {
        async function* source() {
          for (const length of lengths) yield Buffer.alloc(length);
          expect(String(await objectOf(store, 'b'))).toBe('earlier');
          expect(await store.list('a')).toEqual([]);
          throw new Error('the source broke');
        }
        await expect(store.putStream(name, source())).rejects.toThrow('the source broke');
      }
      expect(await objectOf(store, 'a')).toBeNull();
      expect(String(await objectOf(store, 'b'))).toBe('earlier');
    },
  );

  test.each(Object.entries(sizes))(
    'keeps nothing of a %s stream that is aborted while its source lets it wait',
    async (_, lengths) => {
      const store = await newStore();
      const stop = new AbortController();
      async function* source() {
        for (const length of lengths) yield Buffer.alloc(length);
        setImmediate(() => stop.abort(new Error('cancelled')));
        await new Promise(() => {});
      }
      const put = store.putStream('a', source(), stop.signal);
      await expect(put).rejects.toThrow('cancelled');
      expect(await objectOf(store, 'a')).toBeNull();
      await expect(store.putStream('a', chunks('x'), stop.signal)).rejects.toThrow('cancelled');
      expect(await objectOf(store, 'a')).toBeNull();
      expect(await store.putIfAbsent('a', bytes('x'))).toBe(true);
    },
  );

  test('gives any range of an object, and says so when there is none', async () => {
    const store = await newStore();
    await store.putStream('a', chunks('0123456789'));
    for (const [start, end, text] of [
      [0, 0, '0'],
      [2, 5, '2345'],
      [9, 9, '9'],
      [7, 1_000, '789'],
      [0, 9, '0123456789'],
    ] as const) {
      const found = await store.getStream('a', { start, end });
      expect({ bytes: found?.bytes, text: await textOf(found) }).toEqual({ bytes: 10, text });
    }
    for (const [start, end] of [
      [10, 12],
      [5, 4],
      [-1, 4],
      [0.5, 4],
      [0, Number.NaN],
    ] as const) {
      await expect(store.getStream('a', { start, end })).rejects.toThrow(RangeError);
    }
    expect(await store.getStream('b', { start: 0, end: 1 })).toBeNull();
    await store.putStream('empty', chunks());
    await expect(store.getStream('empty', { start: 0, end: 0 })).rejects.toThrow(RangeError);
  });

  test('removes an object once and for all, and only that', async () => {
    const store = await newStore();
    for (const name of ['a/1', 'a/10', 'b']) await store.putStream(name, chunks(name));
    for (const name of ['a/1', 'a/1', 'nothing', 'none/at/all']) await store.remove(name);
    expect(await objectOf(store, 'a/1')).toBeNull();
    expect(await store.list('a')).toEqual(['a/10']);
    expect(await store.putIfAbsent('a/1', bytes('again'))).toBe(true);
  });

  test('lists all names below a prefix in order, however many they are', async () => {
    const store = await newStore();
    expect(await store.list('many')).toEqual([]);
    const names = Array.from({ length: 1_050 }, (_, n) => `many/${String(n).padStart(5, '0')}`);
    const write = async (name?: string): Promise<void> => {
      if (name === undefined) return;
      await store.putIfAbsent(name, bytes(name));
      await write(left.pop());
    };
    const left = [...names, 'many/deep/er', 'manyother/1', 'man'].sort(() => 0.5 - Math.random());
    await Promise.all(Array.from({ length: 20 }, () => write(left.pop())));
    expect(await store.list('many')).toEqual([...names, 'many/deep/er'].sort());
    expect(await store.list('many/deep')).toEqual(['many/deep/er']);
    expect(await store.list('many', 'many/01048')).toEqual(['many/01049', 'many/deep/er']);
  });

  test('is never led elsewhere by a name', async () => {
    const store = await newStore();
    for (const name of [
      ...['../x', 'a/../../x', '/etc/x', 'a//b', 'a/', '', '.', 'a b', 'a/..', 'a/./b', 'a\0b'],
      ...['a\\..\\b', 'a?b', 'ä', 'a/1.0123456789ab.tmp', 'x.tmp/a'],
    ]) {
      const refused = (call: Promise<unknown>) =>
        expect(call, name).rejects.toThrow('not an object name');
      await refused(store.putIfAbsent(name, bytes('x')));
      await refused(store.putStream(name, chunks('x')));
      await refused(objectOf(store, name));
      await refused(store.getStream(name));
      await refused(store.remove(name));
      await refused(store.list(name));
    }
    if (kind === 'file') expect(readdirSync(baseFolder)).toEqual(['deep']);
  });
});

test('a store that is not known is refused by its protocol, without its secrets', () => {
  const open = () => openObjectStore('gs://key:secret@bucket/prefix');
  expect(open).toThrow(/OBJECT_STORE_URL.*gs:/);
  expect(open).not.toThrow(/secret/);
});
