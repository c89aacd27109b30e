import { spawn } from 'node:child_process';
import { once } from 'node:events';
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
import { expect, test } from 'vitest';
import { newFolder } from '../../../server/src/testing/folders.ts';
import { isAlive, ownIdentity, SpoolFolders } from './spool-folders.ts';

const { world, pid, startedAt } = ownIdentity();
const tag = '0123456789abcdef0123456789';
const elsewhere = `ffffffffffff.1.77.${tag}`;

test('a folder belongs to its process while that runs, and has no owner once it is released', () => {
  const root = newFolder();
  const [mine, other] = [new SpoolFolders(root), new SpoolFolders(root)];
  const folder = mine.make();
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  expect(other.takeOver(0)).toEqual([]);
  expect(mine.isStillOurs(folder)).toBe(true);
  mine.release(folder);
  expect(readdirSync(root)).toEqual([expect.stringMatching(/^free\./)]);
  expect(other.takeOver(0)).toHaveLength(1);
  expect(mine.takeOver(0)).toEqual([]);
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
    const taken = next.takeOver(0);
    const numbers = taken.map(({ path }) => Number(readFileSync(join(path, 'number'), 'utf8')));
    expect(numbers).toEqual([...made.keys()]);
    for (const { path } of taken.toReversed()) next.release(path);
  }
});

test('a process number that another process has now is not taken for the one before', async () => {
  const child = spawn('sleep', ['60']);
  const running = { world, pid: child.pid ?? 0, startedAt: '1' };
  expect(isAlive({ world, pid, startedAt })).toBe(true);
  expect(isAlive(running)).toBe(startedAt === '0' ? null : false);
  child.kill();
  await once(child, 'exit');
  expect(isAlive(running)).toBe(false);
  const root = newFolder();
  mkdirSync(join(root, `${world}.${running.pid}.1.${tag}`));
  expect(new SpoolFolders(root).takeOver(0)).toHaveLength(1);
});

test('a folder of another machine is taken over only after a minute without a sign of life', () => {
  const root = newFolder();
  mkdirSync(join(root, elsewhere));
  const folders = new SpoolFolders(root);
  expect(folders.takeOver(1_000)).toEqual([]);
  expect(folders.takeOver(60_000)).toEqual([]);
  utimesSync(join(root, elsewhere), 7, 7); // whatever its clock says, it changed
  expect(folders.takeOver(70_000)).toEqual([]);
  expect(folders.takeOver(130_000)).toEqual([]);
  expect(folders.takeOver(131_000)).toHaveLength(1);
});

test('a process that was silent for long finds out that its folder was taken, and does not write there', () => {
  const root = newFolder();
  const folders = new SpoolFolders(root);
  const folder = folders.make();
  rmSync(folder, { recursive: true });
  expect(folders.isStillOurs(folder)).toBe(true); // just touched: no process took it
  folders.touch();
  expect(folders.isStillOurs(folder)).toBe(false);
});

test('a folder below /proc is refused at once', () => {
  expect(() => new SpoolFolders('/proc/spool/of/mine').takeOver(0)).toThrow('/proc takes no files');
});

test('what is no folder of a spool is left alone', () => {
  const root = newFolder();
  const names = ['lost+found', `free.${tag}x`, 'a.b.c.d', '.DS_Store'];
  for (const name of names) mkdirSync(join(root, name));
  expect(new SpoolFolders(root).takeOver(0)).toEqual([]);
  expect(names.every((name) => existsSync(join(root, name)))).toBe(true);
});
