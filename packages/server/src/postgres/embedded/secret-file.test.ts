import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { randomPassword, readOrCreateSecretFile, readSecretFile } from './secret-file.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'indelible-secret-'));
  path = join(folder, 'key');
});
afterEach(() => rmSync(folder, { recursive: true }));

test('a secret is made once, readable by its owner alone, and nothing is left beside it', () => {
  const first = readOrCreateSecretFile(path, () => 'first');
  expect([first, readOrCreateSecretFile(path, () => 'second')]).toEqual(['first', 'first']);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder)).toEqual(['key']);
});

test('two processes that make a secret at once both get the one that was first', () => {
  const late = readOrCreateSecretFile(path, () => {
    writeFileSync(path, 'of the other process\n', { mode: 0o600 });
    return 'mine';
  });
  expect(late).toBe('of the other process');
  expect(readdirSync(folder)).toEqual(['key']);
});

test('a secret that group or others have any access to is refused with its mode', () => {
  writeFileSync(path, 'open', { mode: 0o600 });
  for (const mode of [0o640, 0o620, 0o604, 0o601]) {
    chmodSync(path, mode);
    expect(() => readSecretFile(path)).toThrow(`(mode 0${mode.toString(8)})`);
  }
  chmodSync(path, 0o400);
  expect(readSecretFile(path)).toBe('open');
});

test('an empty secret is refused rather than used', () => {
  writeFileSync(path, ' \n', { mode: 0o600 });
  expect(() => readOrCreateSecretFile(path, () => 'other')).toThrow('is empty');
});

test('passwords differ and need no escaping in a URL', () => {
  const passwords = Array.from({ length: 100 }, randomPassword);
  expect(new Set(passwords).size).toBe(100);
  expect(passwords.every((password) => /^[\w-]{32}$/.test(password))).toBe(true);
});
