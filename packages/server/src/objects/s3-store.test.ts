import { objectOf } from '@indelible/testing/object-of';
import { startS3Server } from '@indelible/testing/s3-server';
import { afterEach, expect, test } from 'vitest';
import { openObjectStore } from './open-store.ts';

const s3 = await startS3Server();
const bare = await startS3Server({ conditional: false });
afterEach(() => s3.fault(null));

const bytes = (text: string) => new TextEncoder().encode(text);
async function* chunks(...lengths: number[]) {
  for (const length of lengths) yield Buffer.alloc(length, 'x');
}
const newStore = async (server = s3) => openObjectStore(await server.newUrl());
/** A store that has found out whether it keeps what came first. */
async function triedStore(url?: string) {
  const store = url === undefined ? await newStore() : openObjectStore(url);
  await store.putIfAbsent('a/0', bytes('first'));
  return store;
}
const mebibyte = 2 ** 20;

/** Does what is asked with the first requests that match, and lets the others through. */
function faultOnce(match: RegExp, answer: 'lost' | number, times = 1): void {
  let left = times;
  s3.fault((request) => (match.test(request) && left-- > 0 ? answer : undefined));
}

test('a store that ignores If-None-Match is refused in a sentence, and nothing is written to it', async () => {
  const store = await newStore(bare);
  for (let n = 0; n < 2; n++) {
    await expect(store.putIfAbsent('checkpoints/1', bytes('x'))).rejects.toThrow(
      /object store of OBJECT_STORE_URL overwrites .* \(it ignores If-None-Match\)/,
    );
  }
  expect(await store.list('checkpoints')).toEqual([]);
  // What needs no such promise works.
  expect(await store.putStream('exports/1', chunks(3))).toEqual({ bytes: 3 });
});

test('a store is tried once a process, with one object for ever', async () => {
  const url = await s3.newUrl();
  for (let n = 0; n < 2; n++) {
    const store = openObjectStore(url);
    await Promise.all(['a', 'b', 'c'].map((name) => store.putIfAbsent(`${n}/${name}`, bytes('x'))));
  }
  const { pathname, hostname } = new URL(url);
  const probes = s3.requests.filter((line) => line.includes(`/${hostname}${pathname}/probes/`));
  expect(probes.map((line) => line.split(' ')[0])).toEqual(['PUT', 'PUT', 'PUT']);
  expect(await openObjectStore(url).list('probes')).toHaveLength(1);
});

test('a write whose answer was lost is known as our own, and still no other process can repeat it', async () => {
  const store = await triedStore();
  faultOnce(/^PUT .*\/a\/1/, 'lost');
  expect(await store.putIfAbsent('a/1', bytes('same'))).toBe(true);
  expect(s3.requests.filter((line) => /^PUT .*\/a\/1/.test(line)).length).toBeGreaterThan(1);
  expect(await store.putIfAbsent('a/1', bytes('same'))).toBe(false);
});

test("another's write is told from our own, also when our first try came to nothing", async () => {
  const url = await s3.newUrl();
  const [store, other] = [await triedStore(url), openObjectStore(url)];
  await other.putIfAbsent('a/2', bytes('same'));
  faultOnce(/^PUT .*\/a\/2/, 503);
  expect(await store.putIfAbsent('a/2', bytes('same'))).toBe(false);
});

test('whether a write of which nothing is known succeeded is not guessed', async () => {
  const store = await triedStore();
  faultOnce(/^PUT .*\/a\/3/, 'lost', 100);
  await expect(store.putIfAbsent('a/3', bytes('x'))).rejects.toThrow();
  // Written, and refused: whose it is could not be seen.
  s3.fault((request) => (request.startsWith('HEAD') ? 500 : undefined));
  await expect(store.putIfAbsent('a/3', bytes('x'))).rejects.toThrow();
});

test('a conflict with another request is decided by trying again', async () => {
  const store = await triedStore();
  faultOnce(/^PUT .*\/a\/4/, 409, 3);
  expect(await store.putIfAbsent('a/4', bytes('x'))).toBe(true);
  faultOnce(/^PUT .*\/a\/5/, 409, 100);
  await expect(store.putIfAbsent('a/5', bytes('x'))).rejects.toThrow();
  expect(await objectOf(store, 'a/5')).toBeNull();
});

test('a stream whose last answer was lost is there, and the caller learns it', async () => {
  const store = await newStore();
  faultOnce(/^POST .*uploadId=/, 'lost', 100);
  expect(await store.putStream('big', chunks(9 * mebibyte))).toEqual({ bytes: 9 * mebibyte });
  faultOnce(/^PUT .*\/small/, 'lost', 100);
  expect(await store.putStream('small', chunks(9))).toEqual({ bytes: 9 });
  s3.fault(null);
  expect((await store.getStream('big'))?.bytes).toBe(9 * mebibyte);
});

/** Every upload in parts that was begun, and whether it was ended or taken back. */
function uploads(from: number) {
  const lines = s3.requests.slice(from);
  const count = (match: RegExp) => lines.filter((line) => match.test(line)).length;
  return {
    begun: count(/^POST .*[?&]uploads/),
    takenBack: count(/^DELETE .*uploadId=/),
    ended: count(/^POST .*uploadId=/),
  };
}

test('the parts of a stream that fails or is aborted are taken back', async () => {
  const store = await newStore();
  let from = s3.requests.length;
  faultOnce(/^PUT .*partNumber=2/, 500, 100);
  const sizes = [9, 9, 9, 9].map((n) => n * mebibyte);
  await expect(store.putStream('a', chunks(...sizes))).rejects.toThrow();
  expect(uploads(from)).toEqual({ begun: 1, takenBack: 1, ended: 0 });
  from = s3.requests.length;
  const stop = new AbortController();
  // While a part is on its way.
  s3.fault((request) => void (/partNumber=2/.test(request) && stop.abort(new Error('cancelled'))));
  await expect(store.putStream('a', chunks(...sizes), stop.signal)).rejects.toThrow('cancelled');
  expect(uploads(from)).toEqual({ begun: 1, takenBack: 1, ended: 0 });
  const sent = s3.requests.length;
  expect(await objectOf(store, 'a')).toBeNull();
  expect(s3.requests).toHaveLength(sent + 1);
});

test('a stream that is aborted when all of it was sent is taken back too', async () => {
  const store = await newStore();
  const stop = new AbortController();
  s3.fault((request) => void (request.startsWith('PUT') && stop.abort(new Error('cancelled'))));
  await expect(store.putStream('a', chunks(10), stop.signal)).rejects.toThrow('cancelled');
  expect(await objectOf(store, 'a')).toBeNull();
});

test('trouble that passes is overcome; trouble that stays fails, and is no missing object', async () => {
  const store = await newStore();
  await store.putStream('a', chunks(3));
  faultOnce(/^GET /, 503);
  expect(String(await objectOf(store, 'a'))).toBe('xxx');
  s3.fault(() => 500);
  await expect(objectOf(store, 'a')).rejects.toThrow();
  await expect(store.list('a')).rejects.toThrow();
  await expect(store.remove('a')).rejects.toThrow();
  await expect(store.putStream('b', chunks(3))).rejects.toThrow();
});

test('a bucket that does not exist is a fault, not an empty store', async () => {
  const url = (await s3.newUrl()).replace(/bucket-\d+/, 'no-such-bucket');
  const store = openObjectStore(url);
  await expect(objectOf(store, 'a')).rejects.toThrow(/bucket/);
  await expect(store.putIfAbsent('a', bytes('x'))).rejects.toThrow(/bucket/);
});

test('a store that cannot be used is named, with what the operator can do', async () => {
  const absent = openObjectStore('s3://bucket-x?endpoint=http://127.0.0.1:1');
  await expect(objectOf(absent, 'a')).rejects.toThrow(
    /^the object store at 127.0.0.1:1, bucket bucket-x, cannot be used: .*ECONNREFUSED.*; check that it runs, and that OBJECT_STORE_URL names it$/,
  );
  const store = await newStore();
  s3.fault(() => 'lost');
  await expect(store.list('a')).rejects.toThrow(
    /^the object store at .* cannot be used: .*hang up/,
  );
  s3.fault(() => 403);
  await expect(store.list('a')).rejects.toThrow(/ answers 403: .*; check the credentials/);
});

test('installations with prefixes of their own share a bucket without meeting', async () => {
  const url = await s3.newUrl();
  const other = url.replace('/some/prefix', '');
  await openObjectStore(url).putStream('a/1', chunks(1));
  await openObjectStore(other).putStream('a/2', chunks(2));
  expect(await openObjectStore(url).list('a')).toEqual(['a/1']);
  expect(await openObjectStore(other).list('a')).toEqual(['a/2']);
  expect((await openObjectStore(other).getStream('some/prefix/a/1'))?.bytes).toBe(1);
});

test.each([
  ...['s3://', 's3:bucket', 's3://AKIAIOSFODNN7EXAMPLE:hidden@bucket/prefix', 's3://bucket/a b'],
  ...['s3://bucket/a//b', 's3://bucket/prefix?endpiont=https://hidden.example.com'],
  's3://bucket/prefix?endpoint=hidden.example.com',
  ...['s3://bucket/prefix?endpoint=file:///hidden', 's3://bucket?region=eu west'],
  's3://bucket:9000/prefix',
])('%s is refused at once, in a sentence without its parts', (url) => {
  expect(() => openObjectStore(url)).toThrow(/^OBJECT_STORE_URL/);
  expect(() => openObjectStore(url)).not.toThrow(/hidden/);
});
