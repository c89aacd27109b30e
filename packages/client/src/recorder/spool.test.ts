import { mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newFolder } from '@indelible/testing/folders';
import { expect, test } from 'vitest';
import { Spool } from './spool.ts';
import { encodeRecords } from './spool-file.ts';
import { expire } from './testing/locks.ts';

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
  for (;;) {
    const texts = spool.peek(10, 1_000, waiting);
    if (texts.length === 0) return all;
    spool.settle(texts.map(() => true));
    all.push(...texts);
  }
}

/** The files below a folder. */
const filesIn = (root: string) =>
  readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.(log|damaged)$/.test(name),
  );

/** A folder that a recorder left behind, with these files. */
function leftBehind(root: string, age: number, files: Record<string, string | Buffer>): string {
  const folder = join(root, `free.${String(age).padStart(26, '0')}`);
  mkdirSync(folder);
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  return folder;
}

test('events of a tenant that waits let others pass, until two thousand of them wait', () => {
  const { spool, warnings } = spoolIn(newFolder());
  const texts = (tenant: string, count: number) =>
    Array.from({ length: count }, (_, n) => textOf(tenant, n));
  for (let part = 0; part < 20; part += 1) spool.append([...texts('ann', 99), textOf('ben', part)]);
  expect(deliverAll(spool, ann)).toEqual(texts('ben', 20));
  spool.append(texts('ann', 20));
  expect(spool.peek(10, 1_000, ann)).toEqual([]);
  spool.append(texts('ben', 1));
  expect(spool.peek(10, 1_000, ann)).toEqual([]);
  expect(deliverAll(spool)).toHaveLength(2_001);
  expect([spool.events, spool.bytes, warnings]).toEqual([0, 0, []]);
});

test('a file of the chain is removed when all of its events are delivered, whatever is before it', () => {
  const root = newFolder();
  const { spool } = spoolIn(root, 800);
  spool.append([textOf('ann', 1)]);
  for (const n of [1, 2, 3, 4, 5, 6]) spool.append([textOf('ben', n), textOf('ben', n)]);
  expect(filesIn(root)).toHaveLength(6);
  expect(deliverAll(spool, ann)).toHaveLength(12);
  expect(filesIn(root)).toHaveLength(2);
  expect(deliverAll(spool)).toEqual([textOf('ann', 1)]);
});

test('events that are taken over come after those that are there', () => {
  const root = newFolder();
  const { spool } = spoolIn(root);
  spool.append([textOf('ann', 1)]);
  leftBehind(root, 1, { '0000000001.log': encodeRecords([textOf('ben', 2)]) });
  spool.takeOver();
  spool.append([textOf('ann', 3)]);
  leftBehind(root, 2, { '0000000001.log': encodeRecords([textOf('ben', 4)]) });
  expect(deliverAll(spool)).toEqual([textOf('ann', 1), textOf('ann', 3), textOf('ben', 2)]);
  spool.takeOver();
  expect(deliverAll(spool)).toEqual([textOf('ben', 4)]);
  expect([spool.events, spool.bytes, spool.appended]).toEqual([0, 0, 4]);
  spool.close();
  expect(readdirSync(root)).toEqual([]);
});

test('a file that was emptied is told; an idle process that is killed leaves its last one empty', () => {
  const root = newFolder();
  leftBehind(root, 1, { '0000000001.log': '' });
  const killed = join(root, `0123456789ab.${'0'.repeat(25)}2`);
  mkdirSync(killed);
  for (const n of [1, 2]) writeFileSync(join(killed, `000000000${n}.log`), '');
  expire([killed]);
  const { spool, warnings } = spoolIn(root);
  spool.takeOver();
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
  spool.takeOver();
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
  spool.takeOver();
  expect(deliverAll(spool)).toEqual([textOf('ann', 1)]);
  expect(warnings).toEqual([expect.stringContaining('EISDIR')]);
});

test('a spool of an earlier version, which had no locks, is delivered', () => {
  const root = newFolder();
  const folder = join(root, `ffffffffffff.17.7712.${'0'.repeat(26)}`);
  mkdirSync(folder);
  const line = '00000018 5b3735a7 {"tenantId":"ann","n":1}\n';
  writeFileSync(join(folder, '0000000001.log'), line);
  writeFileSync(join(folder, '0000000001.log.new'), 'a file that was being rewritten');
  expire([folder]);
  const { spool, warnings } = spoolIn(root);
  spool.takeOver();
  expect(deliverAll(spool)).toEqual([textOf('ann', 1)]);
  expect([readdirSync(root), warnings]).toEqual([[], []]);
});

test('a damaged record is told, its file is set aside, and the others are delivered', () => {
  const root = newFolder();
  const lines = encodeRecords([textOf('ann', 1), textOf('ann', 2), textOf('ann', 3)]);
  lines[lines.length >> 1] = 0x7f;
  const folder = leftBehind(root, 1, { '0000000001.log': lines });
  const { spool, warnings } = spoolIn(root);
  spool.takeOver();
  expect(deliverAll(spool)).toEqual([textOf('ann', 1), textOf('ann', 3)]);
  const name = `set-aside/${folder.slice(-26)}-0000000001.damaged`;
  expect(warnings).toEqual([
    expect.stringContaining(
      `is damaged: ${lines.length / 3} bytes are gone or not a complete record`,
    ),
    expect.stringContaining(`was set aside as ${join(root, name)}`),
  ]);
  expect(filesIn(root)).toEqual([name]);
  expect(readFileSync(join(root, name))).toEqual(lines);
});

test('a file of which some events were delivered is given again, and the note of its owner with it', () => {
  const root = newFolder();
  const texts = [1, 2, 3].map((n) => textOf('ann', n));
  const notes: string[] = [];
  const ignore = () => {};
  const options = { root, bytesMax: 2 ** 30, onDamaged: ignore };
  const spool = new Spool({ ...options, note: () => 'since Monday' });
  spool.append(texts);
  spool.peek(2, 1_000, new Set());
  spool.settle([true, true]);
  expect(spool.events).toBe(1);
  spool.close();
  const next = new Spool({ ...options, onNote: (note) => notes.push(note) });
  next.takeOver();
  expect(deliverAll(next)).toEqual(texts);
  expect(notes).toEqual(['since Monday']);
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
