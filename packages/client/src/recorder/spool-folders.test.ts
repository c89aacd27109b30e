import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { newFolder } from '@indelible/testing/folders';
import { expect, test } from 'vitest';
import { SpoolFolders } from './spool-folders.ts';
import { expire, locksIn } from './testing/locks.ts';

const tag = '0123456789abcdef0123456789';

test('a folder belongs to its recorder while its lock is young, and has no owner once it is released', () => {
  const root = newFolder();
  const [mine, other] = [new SpoolFolders(root), new SpoolFolders(root)];
  const folder = mine.make();
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  expect(other.takeOver()).toEqual([]);
  expect(mine.isStillOurs(folder)).toBe(true);
  mine.release(folder);
  expect(readdirSync(root)).toEqual([expect.stringMatching(/^free\./)]);
  expect(other.takeOver()).toHaveLength(1);
  expect(mine.takeOver()).toEqual([]);
  expect(readdirSync(root)).toHaveLength(1);
});

test('one recorder takes over a folder whose lock is old, and its former owner finds out', () => {
  const root = newFolder();
  const former = new SpoolFolders(root, () => 'a note');
  const folder = former.make();
  expire(locksIn(root));
  const [one, other] = [new SpoolFolders(root), new SpoolFolders(root)];
  const taken = one.takeOver();
  expect(taken).toEqual([{ path: expect.any(String), wasReleased: false, note: 'a note' }]);
  expect(other.takeOver()).toEqual([]);
  expect(former.isStillOurs(folder)).toBe(true); // its lock was just written: it does not look
  former.touch();
  expect(former.isStillOurs(folder)).toBe(false);
  expect(one.isStillOurs(taken[0]?.path ?? '')).toBe(true);
});

test('folders are taken over in the order in which they were made, whatever touched them since', () => {
  const root = newFolder();
  const first = new SpoolFolders(root);
  const made = Array.from({ length: 40 }, () => first.make());
  for (const [index, folder] of made.entries()) writeFileSync(join(folder, 'number'), `${index}`);
  for (const folder of made.toReversed()) first.release(folder);
  for (let owner = 0; owner < 2; owner += 1) {
    utimesSync(join(root, readdirSync(root)[7] ?? ''), 7, 7);
    const next = new SpoolFolders(root);
    const taken = next.takeOver();
    const numbers = taken.map(({ path }) => Number(readFileSync(join(path, 'number'), 'utf8')));
    expect(numbers).toEqual([...made.keys()]);
    for (const { path } of taken.toReversed()) next.release(path);
  }
});

test('a folder of an earlier version, which has no lock, is taken over when it is a minute old', () => {
  const root = newFolder();
  const folder = join(root, `ffffffffffff.17.7712.${tag}`);
  mkdirSync(folder);
  expect(new SpoolFolders(root).takeOver()).toEqual([]);
  expire([folder]);
  expect(new SpoolFolders(root).takeOver()).toMatchObject([{ wasReleased: false, note: '' }]);
});

test('a folder that was removed is not written again', () => {
  const folders = new SpoolFolders(newFolder());
  const folder = folders.make();
  rmSync(folder, { recursive: true });
  folders.touch();
  expect(folders.isStillOurs(folder)).toBe(false);
});

test('a folder below /proc is refused at once', () => {
  expect(() => new SpoolFolders('/proc/spool/of/mine').takeOver()).toThrow('/proc takes no files');
});

test('other folders in a spool are left alone', () => {
  const root = newFolder();
  const names = ['lost+found', `free.${tag}x`, 'a.b.c.d', '.DS_Store', 'set-aside'];
  for (const name of names) {
    mkdirSync(join(root, name));
    expire([join(root, name)]);
  }
  expect(new SpoolFolders(root).takeOver()).toEqual([]);
  expect(names.every((name) => existsSync(join(root, name)))).toBe(true);
});
