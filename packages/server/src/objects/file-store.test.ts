import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { newFolder } from '@indelible/testing/folders';
import { objectOf } from '@indelible/testing/object-of';
import { expect, test } from 'vitest';
import { openObjectStore } from './open-store.ts';

const baseFolder = newFolder();

let stores = 0;
function newStore() {
  const folder = join(baseFolder, `deep/${stores++}`);
  mkdirSync(folder, { recursive: true });
  return { folder, store: openObjectStore(pathToFileURL(folder).href) };
}
const bytes = (text: string) => new TextEncoder().encode(text);
async function* chunks(...texts: string[]) {
  for (const text of texts) yield bytes(text);
}

test('an object that is still being written is neither listed nor read', async () => {
  const { store, folder } = newStore();
  await store.putIfAbsent('rounds/1', bytes('1'));
  writeFileSync(join(folder, 'rounds/2.0123456789ab.tmp'), 'half');
  expect(await store.list('rounds')).toEqual(['rounds/1']);
  await expect(objectOf(store, 'rounds/2.0123456789ab.tmp')).rejects.toThrow('not an object name');
});

test('a store that cannot be used fails each call, and serves again when it can', async () => {
  const { store, folder } = newStore();
  await store.putIfAbsent('a/1', bytes('first'));
  rmSync(join(folder, 'a'), { recursive: true });
  writeFileSync(join(folder, 'a'), 'a file where the folder was');
  const refused = (call: Promise<unknown>) => expect(call).rejects.toThrow(/ENOTDIR|EEXIST/);
  await refused(store.putIfAbsent('a/2', bytes('second')));
  await refused(store.putStream('a/2', chunks('second')));
  await refused(objectOf(store, 'a/2'));
  await refused(store.getStream('a/2'));
  await refused(store.remove('a/2'));
  await refused(store.list('a'));
  rmSync(join(folder, 'a'));
  expect(await store.putIfAbsent('a/2', bytes('second'))).toBe(true);
});

test('a folder that has vanished is not made anew by a write, and has nothing', async () => {
  const { store, folder } = newStore();
  await store.putIfAbsent('a/1', bytes('first'));
  rmSync(folder, { recursive: true });
  await expect(store.putIfAbsent('a/2', bytes('second'))).rejects.toThrow('ENOENT');
  await expect(store.putStream('b', chunks('third'))).rejects.toThrow('ENOENT');
  expect(existsSync(folder)).toBe(false);
  expect(await objectOf(store, 'a/1')).toBeNull();
  expect(await store.list('a')).toEqual([]);
});

test('a write that fails leaves nothing behind', async () => {
  const { store, folder } = newStore();
  // A folder of the object's name: the draft is written, but cannot take that name.
  mkdirSync(join(folder, 'a/1'), { recursive: true });
  expect(await store.putIfAbsent('a/1', bytes('x'))).toBe(false);
  await expect(store.putStream('a/1', chunks('x'))).rejects.toThrow('EISDIR');
  expect(readdirSync(join(folder, 'a'))).toEqual(['1']);
});

/** Writes 2 MiB where the system lets a file have 512 KiB: a disk that fills up in the middle. */
test('a disk that fills up fails the write, and leaves neither half an object nor a draft', async () => {
  const { store, folder } = newStore();
  await store.putStream('a/1', chunks('earlier'));
  const script = `
    const { openObjectStore } = await import(${JSON.stringify(import.meta.resolve('./open-store.ts'))});
    const store = openObjectStore(${JSON.stringify(pathToFileURL(folder).href)});
    async function* source() { for (let n = 0; n < 32; n++) yield Buffer.alloc(65_536, n); }
    const codes = await Promise.allSettled([
      store.putStream('a/1', source()),
      store.putStream('a/2', source()),
      store.putIfAbsent('a/3', Buffer.alloc(2 * 2 ** 20)),
    ]);
    console.log(codes.map(({ reason }) => reason?.code).join());
    console.log(codes[0].reason.message);`;
  const limited = 'ulimit -f 1024; exec "$0" --input-type=module -e "$1"';
  const { stdout } = await promisify(execFile)('sh', ['-c', limited, process.execPath, script]);
  const [faults, first] = stdout.split('\n');
  expect(faults).toBe('EFBIG,EFBIG,EFBIG');
  expect(first).toContain(folder);
  expect(readdirSync(join(folder, 'a'))).toEqual(['1']);
  expect(String(await objectOf(store, 'a/1'))).toBe('earlier');
});

test('the rest of an object that a crashed writer left goes with the object, and nothing else', async () => {
  const { store, folder } = newStore();
  for (const name of ['a/1', 'a/10']) await store.putStream(name, chunks(name));
  for (const draft of ['1', '10']) writeFileSync(join(folder, `a/${draft}.0123456789ab.tmp`), 'x');
  await store.remove('a/1');
  expect(readdirSync(join(folder, 'a'))).toEqual(['10', '10.0123456789ab.tmp']);
});

test('an object that is replaced or removed is read to its end', async () => {
  const { store } = newStore();
  const long = 'long '.repeat(100_000);
  await store.putStream('a', chunks(long));
  const [first, second] = [await store.getStream('a'), await store.getStream('a')];
  await store.putStream('a', chunks('short'));
  expect(Buffer.concat((await first?.body.toArray()) ?? []).toString()).toBe(long);
  await store.remove('a');
  expect(Buffer.concat((await second?.body.toArray()) ?? []).toString()).toBe(long);
});

test('objects are for this account alone', async () => {
  const { store, folder } = newStore();
  await store.putIfAbsent('a/1', bytes('x'));
  await store.putStream('a/2', chunks('x'));
  expect(statSync(join(folder, 'a')).mode & 0o777).toBe(0o700);
  for (const name of ['a/1', 'a/2']) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
});

test('a probe fails where no checkpoint can be written, and leaves nothing behind', async () => {
  const { store, folder } = newStore();
  await store.probe();
  expect(readdirSync(folder)).toEqual([]);
  await store.putIfAbsent('checkpoints/1', bytes('first'));
  await store.probe();
  expect(readdirSync(join(folder, 'checkpoints'))).toEqual(['1']);
  rmSync(join(folder, 'checkpoints'), { recursive: true });
  writeFileSync(join(folder, 'checkpoints'), 'a file where the folder was');
  await expect(store.probe()).rejects.toThrow('ENOTDIR');
});
