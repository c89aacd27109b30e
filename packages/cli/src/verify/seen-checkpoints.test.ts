import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newFolder } from '@indelible/testing/folders';
import { expect, test } from 'vitest';
import { SeenCheckpoints, serviceAt, stateFolder } from './seen-checkpoints.ts';

const tenantId = '0199c0de-4b1e-7a55-8d37-6c2f90ab1e24';
const root = Buffer.alloc(32, 1).toString('base64');
const note = (size: number) =>
  `audit.example.com/l/x\n${size}\n${root}\n\n\u2014 audit.example.com/l/x AAAAAAA=\n`;

function seenIn(make = (folder: string) => join(folder, 'a', 'b')) {
  const folder = newFolder();
  return { folder: make(folder), seen: new SeenCheckpoints(make(folder), tenantId) };
}

test('added items are there in order, each once, the last fifty at most', () => {
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

test('two services with a tenant of the same UUID are kept apart, one by two addresses is not', () => {
  const { folder } = seenIn();
  const at = (service: string) => new SeenCheckpoints(folder, tenantId, service);
  const [production, staging] = [at('audit.example.com'), at('staging.example.com')];
  production.add(note(9), new Date(1));
  const [seen] = staging.load();
  if (seen === undefined) throw new Error('nothing was kept');
  expect(seen.service).toBe('audit.example.com');
  expect(production.isOfService(seen, null)).toBe(true);
  expect(production.isOfService(seen, 'renamed.example.com/l/y')).toBe(true);
  expect(staging.isOfService(seen, null)).toBe(false);
  expect(staging.isOfService(seen, 'staging.example.com/l/y')).toBe(false);
  expect(staging.isOfService(seen, 'audit.example.com/l/z')).toBe(true);
  // One that is verified every night does not push out the other's memory.
  const other = (size: number) => note(size).replaceAll('audit.', 'staging.');
  for (let size = 1; size <= 60; size += 1) staging.add(other(size), new Date(size));
  expect(production.load()).toHaveLength(51);
  expect(production.load()[0]).toEqual(seen);
});

test('the service is named by its address, without scheme, key or trailing slash', () => {
  expect(serviceAt('https://Audit.example.com/base/')).toBe('audit.example.com/base');
  expect(serviceAt('http://127.0.0.1:3000')).toBe('127.0.0.1:3000');
});
