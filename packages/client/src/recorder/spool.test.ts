import { mkdirSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { newFolder } from '../../../server/src/testing/folders.ts';
import { Spool } from './spool.ts';
import { encodeRecords } from './spool-file.ts';
import { ownIdentity } from './spool-folders.ts';

const { world } = ownIdentity();

function spoolIn(root: string, bytesMax = 2 ** 30) {
  const warnings: string[] = [];
  const onDamaged = ({ message }: Error) => warnings.push(message);
  return { spool: new Spool({ root, bytesMax, onDamaged }), warnings };
}

const textOf = (tenantId: string, n: number) => JSON.stringify({ tenantId, n });
const ann = new Set(['ann']);

/** Everything that `peek` gives, each event delivered at once. */
function deliverAll(spool: Spool, waiting = new Set<string>()): string[] {
  const all: string[] = [];
  for (let texts: string[] | null = []; texts !== null; texts = spool.peek(10, 1_000, waiting)) {
    if (texts.length > 0) spool.settle(texts.map(() => true));
    all.push(...texts);
  }
  return all;
}

/** The files below a folder. */
const filesIn = (root: string) =>
  readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.(log|new)$/.test(name),
  );

/** A folder that a recorder left behind, with these files. */
function leftBehind(root: string, age: number, files: Record<string, string | Buffer>): string {
  const folder = join(root, `free.${String(age).padStart(26, '0')}`);
  mkdirSync(folder);
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  return folder;
}

test('files that hold only events of tenants that wait are not read again while these wait', () => {
  const root = newFolder();
  const { spool, warnings } = spoolIn(root, 1_600);
  for (const n of [1, 2, 3, 4]) spool.append([textOf('ann', n), textOf('ben', n)]);
  expect(deliverAll(spool, ann)).toEqual([1, 2, 3, 4].map((n) => textOf('ben', n)));
  spool.rewind();
  deliverAll(spool, ann);
  for (const name of filesIn(root).sort().slice(0, -1)) rmSync(join(root, name));
  spool.rewind();
  expect(deliverAll(spool, ann)).toEqual([]);
  expect(warnings).toEqual([]);
});

test('a spool file is a small share of the limit, so that one event that waits does not fill the disk', () => {
  const { spool, warnings } = spoolIn(newFolder(), 4_000);
  spool.append([textOf('ann', 0)]);
  for (let n = 1; n <= 200; n += 1) {
    spool.append([textOf('ben', n)]);
    spool.rewind();
    expect(deliverAll(spool, ann)).toEqual([textOf('ben', n)]);
  }
  expect(spool.bytes).toBeLessThan(600);
  expect(warnings).toEqual([]);
});

test('what was left of a file that was being written anew goes with the folder', () => {
  const root = newFolder();
  leftBehind(root, 1, {
    '0000000001.log': encodeRecords([textOf('ann', 1)]),
    '0000000001.log.new': 'half of it',
    '0000000002.log.new': 'whose file is gone',
  });
  const { spool } = spoolIn(root);
  spool.takeOver(0);
  expect(deliverAll(spool)).toEqual([textOf('ann', 1)]);
  expect(readdirSync(root)).toEqual([]);
});

test('what is taken over comes after what is there, and before what is appended then', () => {
  const root = newFolder();
  const { spool } = spoolIn(root);
  spool.append([textOf('ann', 1)]);
  leftBehind(root, 1, { '0000000001.log': encodeRecords([textOf('ben', 2)]) });
  spool.takeOver(0);
  spool.append([textOf('ann', 3)]);
  leftBehind(root, 2, { '0000000001.log': encodeRecords([textOf('ben', 4)]) });
  expect(deliverAll(spool)).toEqual([textOf('ann', 1), textOf('ben', 2), textOf('ann', 3)]);
  spool.takeOver(0);
  spool.append([textOf('ann', 5)]);
  expect(deliverAll(spool)).toEqual([textOf('ben', 4), textOf('ann', 5)]);
  expect([spool.events, spool.bytes, spool.appended]).toEqual([0, 0, 5]);
  spool.close();
  expect(readdirSync(root)).toEqual([]);
});

test('a file that was emptied is told; an idle process that is killed leaves its last one empty', () => {
  const root = newFolder();
  leftBehind(root, 1, { '0000000001.log': '' });
  const killed = join(root, `${world}.2147483646.1.${'0'.repeat(25)}2`);
  mkdirSync(killed);
  for (const n of [1, 2]) writeFileSync(join(killed, `000000000${n}.log`), '');
  const { spool, warnings } = spoolIn(root);
  spool.takeOver(0);
  expect(spool.isEmpty).toBe(true);
  expect(readdirSync(root)).toEqual([]);
  const emptied = expect.stringMatching(/0000000001.log is damaged: it is empty/);
  expect(warnings).toEqual([emptied, emptied]);
});

test.each([
  ['while it is written', false],
  ['after it was taken over', true],
])('a file that is emptied %s costs what it held, and that is told', (_, isTakenOver) => {
  const root = newFolder();
  const { spool, warnings } = spoolIn(root);
  if (isTakenOver) leftBehind(root, 1, { '0000000001.log': encodeRecords([textOf('ann', 1)]) });
  else spool.append([textOf('ann', 1)]);
  spool.takeOver(0);
  const { bytes } = spool;
  for (const name of filesIn(root)) truncateSync(join(root, name));
  expect(deliverAll(spool)).toEqual([]);
  expect([spool.events, spool.bytes]).toEqual([0, 0]);
  expect(warnings).toEqual([expect.stringContaining(`is damaged: ${bytes} bytes are gone`)]);
});

test('a folder that cannot be read holds up none of those behind it', () => {
  const root = newFolder();
  const first = leftBehind(root, 1, {});
  mkdirSync(join(first, '0000000001.log'));
  leftBehind(root, 2, { '0000000001.log': encodeRecords([textOf('ann', 1)]) });
  const { spool, warnings } = spoolIn(root);
  spool.takeOver(0);
  expect(deliverAll(spool)).toEqual([textOf('ann', 1)]);
  expect(warnings).toEqual([expect.stringContaining('EISDIR')]);
});

test('what was delivered is not given again after a clean end', () => {
  const root = newFolder();
  const texts = [1, 2, 3].map((n) => textOf('ann', n));
  const { spool } = spoolIn(root);
  spool.append(texts);
  spool.peek(2, 1_000, new Set());
  spool.settle([true, true]);
  spool.close();
  const { spool: next, warnings } = spoolIn(root);
  next.takeOver(0);
  expect(deliverAll(next)).toEqual(texts.slice(2));
  expect(warnings).toEqual([]);
});

test('a spool whose folder is gone, taken over by another machine, is closed like any other', () => {
  const root = newFolder();
  const { spool, warnings } = spoolIn(root);
  spool.append([textOf('ann', 1), textOf('ann', 2)]);
  spool.peek(1, 1_000, new Set());
  spool.settle([true]);
  rmSync(join(root, readdirSync(root)[0] ?? ''), { recursive: true });
  spool.close();
  expect(warnings).toEqual([]);
});
