import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { serverArguments } from './settings.ts';

test('nothing that protects acknowledged data is switched off, and no address is opened', () => {
  const args = serverArguments('/data', '/socket');
  expect(args).toContain('listen_addresses=');
  for (const name of ['fsync', 'full_page_writes', 'synchronous_commit', 'autovacuum']) {
    expect(args).not.toContain(`${name}=off`);
  }
});

test('a setting of the caller replaces ours instead of standing beside it', () => {
  const args = serverArguments('/data', '/socket', { max_connections: '7' });
  expect(args.filter((arg) => arg.startsWith('max_connections='))).toEqual(['max_connections=7']);
});

test('a socket folder with a comma, a blank or a quote in its name stays one folder', () => {
  const args = serverArguments('/data', '/a, "b"');
  expect(args).toContain('unix_socket_directories="/a, ""b"""');
});

test('the documentation gives a cluster that moves to another PostgreSQL these settings', () => {
  const page = join(import.meta.dirname, '../../../../../docs/operations/postgresql.md');
  const [, block = ''] =
    /postgresql\.conf <<EOF\n([\s\S]*?) *EOF/.exec(readFileSync(page, 'utf8')) ?? [];
  const settings = block.trim().split(/\n */);
  expect(settings).toContain('log_min_error_statement = panic');
  const args = serverArguments('/data', '/socket');
  expect(args).toEqual(expect.arrayContaining(settings.map((line) => line.replace(' = ', '='))));
});
