import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { closeServerLog, failureIn, openServerLog, textSince } from './server-log.ts';

let home: string;
let path: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'indelible-log-'));
  path = join(home, 'postgres.log');
});
afterEach(() => rmSync(home, { recursive: true }));

test('a new run adds to a short log, and only its own lines count as its output', () => {
  writeFileSync(path, 'earlier run\n', { mode: 0o600 });
  const log = openServerLog(home);
  writeFileSync(log.fd, 'this run\n');
  closeServerLog(log);
  expect(textSince(log)).toBe('this run\n');
  expect(readFileSync(path, 'utf8')).toBe('earlier run\nthis run\n');
});

test('a long log is put aside at a start, replacing the one put aside before', () => {
  writeFileSync(`${path}.1`, 'oldest');
  writeFileSync(path, Buffer.alloc(8 * 2 ** 20 + 1));
  closeServerLog(openServerLog(home));
  expect([statSync(path).size, statSync(`${path}.1`).size]).toEqual([0, 8 * 2 ** 20 + 1]);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test('the log is never written through a link', () => {
  const elsewhere = join(home, 'elsewhere');
  writeFileSync(elsewhere, '');
  symlinkSync(elsewhere, path);
  expect(() => openServerLog(home)).toThrow('ELOOP');
});

test('the reason of a failure is the first error, not what followed from it', () => {
  const initdb = [
    'running bootstrap script ... 2026-11-20 11:13:01 UTC [7] FATAL:  no space left on device',
    '2026-11-20 11:13:01 UTC [7] PANIC:  cannot abort transaction 1',
    'initdb: removing contents of data directory',
  ];
  expect(failureIn(initdb.join('\n'))).toBe('no space left on device');
  expect(failureIn('initdb: error: invalid locale name\n')).toBe('invalid locale name');
  expect(failureIn('loading\npostgres: cannot execute\n\n')).toBe('postgres: cannot execute');
});
