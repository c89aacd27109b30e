import { expect, test } from 'vitest';
import { isPostmaster, parsePostmasterPid, processExists } from './postmaster-pid.ts';

const file = [
  ...['7644', '/srv/data/postgresql/data', '1732100000', '5432', '/srv/data/postgresql/socket', ''],
  ...['  3688456    163840', 'ready   ', ''],
].join('\n');

test('a server is read with its process, its socket folder and its state', () => {
  expect(parsePostmasterPid(file)).toEqual({
    pid: 7644,
    socketFolder: '/srv/data/postgresql/socket',
    status: 'ready',
  });
});

test('a file that is still being written is a server without a state yet', () => {
  const claim = parsePostmasterPid(file.split('\n').slice(0, 3).join('\n'));
  expect(claim).toEqual({ pid: 7644, socketFolder: '', status: '' });
});

test('a text that names no process that could be signalled is no server', () => {
  for (const text of ['', '\n', '0\n', '1\n', '-7644\n', 'x7644\n', '7644.5\n']) {
    expect(parsePostmasterPid(text)).toBeUndefined();
  }
});

test('a process that has got the number of a server later is not taken for it', () => {
  expect(processExists(process.pid)).toBe(true);
  expect(isPostmaster(process.pid, process.cwd())).toBe(false);
});
