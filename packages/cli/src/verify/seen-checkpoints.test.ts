import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { SeenCheckpoints, stateFolder } from './seen-checkpoints.ts';

const tenantId = '0199c0de-4b1e-7a55-8d37-6c2f90ab1e24';
const root = Buffer.alloc(32, 1).toString('base64');
const note = (size: number) =>
  `audit.example.com/l/x\n${size}\n${root}\n\n\u2014 audit.example.com/l/x AAAAAAA=\n`;

function seenIn(make = (folder: string) => join(folder, 'a', 'b')) {
  const folder = mkdtempSync(join(tmpdir(), 'indelible-seen-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return { folder: make(folder), seen: new SeenCheckpoints(make(folder), tenantId) };
}

test('what was added is there in order, each once, the last fifty at most', () => {
  const { seen, folder } = seenIn();
  expect(seen.load()).toEqual([]);
  for (let size = 1; size <= 60; size += 1) seen.add(note(size), new Date(size));
  seen.add(note(59), new Date(99));
  const sizes = seen.load().map(({ checkpoint }) => checkpoint.size);
  expect(sizes).toHaveLength(50);
  expect(sizes.slice(-3)).toEqual([58, 60, 59]);
  expect(seen.load().at(-1)?.seenAt).toBe('1970-01-01T00:00:00.099Z');
  expect(readdirSync(folder)).toEqual([`${tenantId}.json`]);
});

test('a file that cannot be read is an error, never an empty memory', () => {
  const { seen, folder } = seenIn();
  seen.add(note(1), new Date());
  for (const content of [
    '',
    '{}',
    '[1]',
    '{"checkpoints":[{}]}',
    '{"checkpoints":[{"note":"x"}]}',
  ]) {
    writeFileSync(join(folder, `${tenantId}.json`), content);
    expect(() => seen.load(), content).toThrow(/cannot be read/);
    expect(() => seen.add(note(2), new Date()), content).toThrow(/cannot be read/);
  }
});

test('a folder that cannot be made is told with what to do', () => {
  const { seen, folder } = seenIn((base) => join(base, 'file', 'x'));
  writeFileSync(join(folder, '..'), '');
  expect(() => seen.add(note(1), new Date())).toThrow(/name a folder with --state/);
});

test('the folder is the one named, else that of the desktop standard', () => {
  expect(stateFolder('/x/y', { HOME: '/h', XDG_STATE_HOME: '/s' })).toBe('/x/y');
  expect(stateFolder(undefined, { HOME: '/h', XDG_STATE_HOME: '/s' })).toBe(
    '/s/indelible/checkpoints',
  );
  expect(stateFolder(undefined, { HOME: '/h' })).toBe('/h/.local/state/indelible/checkpoints');
});
