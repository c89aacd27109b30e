import { randomUUID } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { envOf } from '@indelible/testing/archived';
import { newFolder } from '@indelible/testing/folders';
import { platformKey, testService } from '@indelible/testing/service';
import { expect, test } from 'vitest';
import { runCli } from './testing/run-cli.ts';

/* What a person reads when a command fails. */

const service = await testService();
const url = await service.app.http.listen({ host: '127.0.0.1', port: 0 });
const env = { INDELIBLE_URL: url, INDELIBLE_API_KEY: platformKey };
const folder = newFolder();

async function refused(...args: string[]): Promise<string> {
  const { status, stderr } = await runCli(args, { env });
  expect([args, status]).toEqual([args, 2]);
  expect(stderr).toMatch(/^indelible: [^\n]+\n(\(--help[^\n]+\n)?$/);
  return stderr;
}

test('where the service asks for a header, a command names its option', async () => {
  const { id } = await service.tenant();
  const file = join(folder, 'asked.csv');
  for (const args of [
    ['tail', '--tenant', id],
    ['verify', id],
    ['rules', 'list', '--tenant', id],
    ['export', '--output', file, '--tenant', id],
  ]) {
    expect(await refused(...args)).toContain(
      'say why with --reason, which the tenant sees (reason',
    );
  }
  expect(await refused('export', '--output', file)).toContain('--tenant must be the UUID');
  const smaller = await refused('tenant', 'set-plan', id, 'Starter');
  expect(smaller).toContain('say why with --reason, which the tenant sees (reason');
  const email = ['--reason', 'x', '--operator-email', 'nobody'];
  expect(await refused('tail', '--tenant', id, ...email)).toContain('--operator-email must be');
  const blank = await refused('tail', '--tenant', id, '--reason', ' ');
  expect(blank).toContain('--reason must not be blank (reason');
  const wrong = await refused('tenant', 'list', '--key', 'wrong');
  expect(wrong).toContain(
    'the key is not valid: give, with --key or INDELIBLE_API_KEY, a complete',
  );
});

test('a field that the service refuses is named as the command names it, if it does', async () => {
  const { id } = await service.tenant();
  const file = join(folder, 'rule.json');
  writeFileSync(file, JSON.stringify({ name: 'x', kind: 'match', filters: { action: ['A'] } }));
  const made = ['key', 'create', '--tenant', id, '--name', 'x', '--scope'];
  for (const [args, sentence] of [
    [['tenant', 'create', 'X', '--plan', 'Free'], '--plan must be one of Starter, Pro, Enterprise'],
    [['tenant', 'set-plan', id, 'Free'], '<plan> must be one of Starter, Pro, Enterprise'],
    [['tenant', 'create', '', '--plan', 'Pro'], '<name> '],
    [['tenant', 'create', 'X', '--plan', 'Pro', '--time-zone', 'Mars'], '--time-zone '],
    [[...made, 'events:all'], '--scope '],
    [[...made, 'events:read', '--allowed-ip', 'here'], '--allowed-ip '],
    [['export', '--output', join(folder, 'q.csv'), '--resource-id', 'x y!'], '--resource-id must'],
    // Of a file, the pointer names the place.
    [['rules', 'add', file, '--tenant', id, '--reason', 'x'], '/filters/action/0 must be'],
  ] as const) {
    expect(await refused(...args)).toContain(`indelible: ${sentence}`);
  }
});

test('an error names the missing file and the place where it was sought', async () => {
  const { id } = await service.tenant();
  const unknown = randomUUID();
  const at = `the address ${url} (not_found`;
  expect(await refused('tenant', 'set-plan', unknown, 'Pro')).toContain(`check ${unknown}, ${at}`);
  const key = await refused('key', 'revoke', unknown, '--tenant', id);
  expect(key).toContain(`check ${unknown}, --tenant ${id}, ${at}`);
  const tail = await refused('tail', '--tenant', unknown, '--reason', 'x');
  expect(tail).toContain(`there is no such tenant: check --tenant ${unknown}, ${at}`);
});

test('https to a port that speaks http is said in words', async () => {
  const https = url.replace('http:', 'https:');
  const { status, stderr } = await runCli(['tenant', 'list', '--url', https], { env });
  expect([status, stderr]).toEqual([
    3,
    `indelible: ${https} cannot be reached: it does not answer with TLS: its address may begin ` +
      'with http:// instead of https://\n',
  ]);
});

test('an address that is none is refused before a key is looked for', async () => {
  const { stderr } = await runCli(['tenant', 'list', '--url', 'ftp://audit.invalid']);
  expect(stderr).toContain('must start with http:// or https://: see --url and INDELIBLE_URL');
});

test('files that are missing, folders, or in no folder are said in words, with their name', async () => {
  const { id } = await service.tenant();
  const nowhere = join(folder, 'no/such');
  const file = join(folder, 'a-file');
  writeFileSync(file, '');
  const of = ['--tenant', id, '--reason', 'x'];
  const missing = `${nowhere} cannot be read: no such file or directory\n`;
  expect(await refused('rules', 'add', nowhere, ...of)).toContain(missing);
  expect(await refused('import', nowhere, ...of.slice(0, 2))).toContain(missing);
  expect(await refused('archive', 'verify', file)).toContain('an archive: not a directory\n');
  expect(await refused('verify', '--receipt', folder, ...of)).toContain(
    `${folder} cannot be read as JSON: illegal operation on a directory\n`,
  );
  const noFolder = `${folder}/no is not a writable folder; make it, or name another one\n`;
  for (const args of [
    ['export', '--bundle', nowhere, ...of],
    ['export', '--output', nowhere, '--format', 'csv', ...of],
    ['import', file, '--rejects', nowhere],
    ['keygen', nowhere],
    ['fsck', '--resume', nowhere],
  ]) {
    expect(await refused(...args)).toContain(noFolder);
  }
});

test('an export that the service refuses leaves nothing behind', async () => {
  const bundle = join(folder, 'refused');
  await refused('export', '--bundle', bundle, '--tenant', randomUUID(), '--reason', 'x');
  expect(existsSync(`${bundle}.part`)).toBe(false);
});

test('a command finds no database in a folder that has none, and makes none', async () => {
  const DATA_DIR = join(folder, 'data');
  for (const args of [
    ['fsck'],
    ['retention', 'plan'],
    ['archive', 'list'],
    ['log', 'reopen', '--yes'],
    ['backup', join(folder, 'backup')],
    ['erase', '--tenant', randomUUID()],
  ]) {
    const { status, stdout, stderr } = await runCli(args, { env: { DATA_DIR } });
    expect([args, status, stdout]).toEqual([args, 1, '']);
    expect(stderr).toContain(`${DATA_DIR} has no database: set DATA_DIR to the folder of the`);
  }
  expect(existsSync(join(DATA_DIR, 'postgresql'))).toBe(false);
});

test('a wrong setting is wrong usage and named, and a database that is away is a finding', async () => {
  const url = 'postgres://nobody@127.0.0.1:1/x';
  const own = { ...envOf(service), DATABASE_URL: url, DATABASE_OWNER_URL: url };
  for (const [args, sentence] of [
    [['log', 'reopen', '--yes'], 'cannot be reopened'],
    [['retention', 'plan'], 'retention cannot run'],
    [['serve'], null],
    [['migrate'], null],
  ] as const) {
    const wrong = await runCli(args, { env: { ...own, PORT: 'eighty' } });
    expect([wrong.status, wrong.stdout]).toEqual([2, '']);
    expect(wrong.stderr).toMatch(/^indelible: PORT must be [^\n]+\n$/);
    if (sentence === null) continue;
    const { status, stderr } = await runCli(args, { env: own });
    expect([status, stderr]).toEqual([1, expect.stringContaining(sentence)]);
  }
});
