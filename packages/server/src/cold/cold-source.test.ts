import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterEach, expect, test, vi } from 'vitest';
import type { ObjectStore } from '../objects/object-store.ts';
import { openObjectStore } from '../objects/open-store.ts';
import { newFolder } from '../testing/folders.ts';
import { startS3Server } from '../testing/s3-server.ts';
import { openDuckDb } from './duckdb.ts';
import { openColdSource } from './duckdb-reader.ts';

const folder = newFolder();
const cache = join(folder, 'cold');
const stored = openObjectStore(pathToFileURL(join(folder, 'objects')).href);
const s3 = openObjectStore(await (await startS3Server()).newUrl());
/** The names of objects that were read. */
const fetched: string[] = [];
const objects: ObjectStore = {
  ...stored,
  getStream: (name) => {
    fetched.push(name);
    return stored.getStream(name);
  },
};
const contents: Uint8Array[] = [];
const files = [await parquetOf(1), await parquetOf(2), await parquetOf(3)] as const;
const bytesOfTwo = files[0].bytes + files[1].bytes;
afterEach(() => {
  vi.useRealTimers();
  fetched.length = 0;
});

/** An object with this number in its only row. */
async function parquetOf(n: number) {
  const { db, close } = await openDuckDb(folder);
  const path = join(folder, 'draft');
  await db.run(`COPY (SELECT ${n} AS n) TO '${path}' (FORMAT parquet)`);
  close();
  const data = readFileSync(path);
  contents.push(data);
  await stored.putIfAbsent(`file-${n}`, data);
  const sha256 = createHash('sha256').update(data).digest('hex');
  return { name: `file-${n}`, bytes: data.length, sha256 };
}

const source = (bytesMax = bytesOfTwo) => openColdSource(objects, { folder: cache, bytesMax });
type Source = ReturnType<typeof source>;
type File = (typeof files)[number];

const numbersIn = async (cold: Source, some: readonly File[], more = '') => {
  const list = (paths: readonly string[]) => paths.map((path) => `'${path}'`).join();
  const rows = await cold.read(some, (paths) => `FROM read_parquet([${list(paths)}]) ${more}`, []);
  return rows.map(([n]) => n);
};

const day = 86_400_000;

test('a copy is a file without a name, and is not fetched again', async () => {
  const cold = source();
  expect(await numbersIn(cold, [files[0]])).toEqual([1]);
  expect(await numbersIn(cold, [files[0]])).toEqual([1]);
  expect(fetched).toEqual(['file-1']);
  expect(readdirSync(cache)).toEqual([]);
  await cold.close();
});

test('files that killed processes have left are removed before the first copy', async () => {
  writeFileSync(join(cache, 'left'), '');
  const cold = source();
  expect(await numbersIn(cold, [files[0]])).toEqual([1]);
  expect(readdirSync(cache)).toEqual([]);
  await cold.close();
});

test('a copy is closed after a day, but not while it is read', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const cold = source();
  let copy = '';
  const statement = ([path = '']: readonly string[]) => {
    copy = path;
    vi.advanceTimersByTime(day);
    return `FROM read_parquet('${path}')`;
  };
  const isOpen = () => statSync(copy, { throwIfNoEntry: false })?.size === files[0].bytes;
  expect(await cold.read([files[0]], statement, [])).toEqual([[1]]);
  vi.useRealTimers();
  await expect.poll(isOpen).toBe(false);
  await numbersIn(cold, [files[0]]);
  expect(fetched).toEqual(['file-1', 'file-1']);
  await cold.close();
});

test('copies that were not used for the longest time make room', async () => {
  const cold = source();
  for (const n of [0, 1, 0, 2, 0, 1] as const)
    expect(await numbersIn(cold, [files[n]])).toEqual([n + 1]);
  expect(fetched).toEqual(['file-1', 'file-2', 'file-3', 'file-2']);
  await cold.close();
});

test('a read of more than there is room for has all of its files, also beside others', async () => {
  const cold = source(0);
  const reads = Array.from({ length: 20 }, (_, n) => {
    const some = n % 2 === 0 ? [files[0], files[1], files[2]] : [files[n % 3] ?? files[0]];
    return numbersIn(cold, some, 'ORDER BY n');
  });
  for (const [n, found] of (await Promise.all(reads)).entries())
    expect(found).toEqual(n % 2 === 0 ? [1, 2, 3] : [(n % 3) + 1]);
  await cold.close();
});

test('after a read that failed the next one tries again', async () => {
  const cold = source();
  const create = vi.spyOn(DuckDBInstance, 'create').mockRejectedValueOnce(new Error('no memory'));
  await expect(numbersIn(cold, [files[0]])).rejects.toThrow('no memory');
  create.mockRestore();
  expect(await numbersIn(cold, [files[0]])).toEqual([1]);
  await stored.remove('file-2');
  await expect(numbersIn(cold, [files[1]])).rejects.toMatchObject({ code: 'archive_unavailable' });
  const longer = new Uint8Array(1_000_000);
  await stored.putIfAbsent('file-2', longer);
  await s3.putIfAbsent('file-2', longer);
  for (const from of [cold, openColdSource(s3, { folder: cache, bytesMax: bytesOfTwo })])
    await expect(numbersIn(from, [files[1]])).rejects.toMatchObject({
      code: 'archive_unavailable',
      // So it fills no disk.
      finding: 'the archive cannot be read: file-2 is not as long as it was',
    });
  await stored.remove('file-2');
  await stored.putIfAbsent('file-2', contents[1] ?? new Uint8Array());
  expect(await numbersIn(cold, [files[1]])).toEqual([2]);
  await cold.close();
});

test('an answer ends after ten seconds, with a sentence', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  const cold = source();
  const reader = cold.forAnswer();
  vi.advanceTimersByTime(9_900);
  let answer: unknown;
  const forever = () => 'SELECT count(*) FROM range(1_000_000_000_000)';
  void reader.read([], forever, []).catch((error) => {
    answer = error;
  });
  while (answer === undefined) await vi.advanceTimersByTimeAsync(100);
  const tooLate = {
    code: 'too_slow',
    message: expect.stringContaining('it takes longer than 10 seconds; narrow range or filters'),
  };
  expect(answer).toMatchObject(tooLate);
  await expect(reader.read([], () => 'SELECT 1', [])).rejects.toMatchObject(tooLate);
  vi.useRealTimers();
  expect(await numbersIn(cold, [files[0]])).toEqual([1]);
  await cold.close();
});
