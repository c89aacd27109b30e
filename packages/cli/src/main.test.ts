import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newFolder } from '@indelible/testing/folders';
import { expect, test } from 'vitest';
import { RunningCli, runCli } from './testing/run-cli.ts';

const folder = newFolder();

const tenantId = '6da45ac7-5db6-56fb-8c55-847471cb240c';
// A port of the range that no service gets by itself, where nothing listens.
const nowhere = {
  INDELIBLE_URL: 'http://127.0.0.1:2',
  INDELIBLE_API_KEY: 'idl_secret-of-the-test',
};

const packageFile = join(import.meta.dirname, '..', 'package.json');

test('the package brings a command named indelible that can be executed', () => {
  const { bin, version } = JSON.parse(readFileSync(packageFile, 'utf8'));
  const path = join(import.meta.dirname, '..', bin.indelible);
  expect(statSync(path).mode & 0o111).toBe(0o111);
  const { stdout } = spawnSync(process.execPath, [path, '--version'], { encoding: 'utf8' });
  expect(stdout).toBe(`${version}\n`);
});

test('a Node that reads no TypeScript, such as Node 20, is told which one is needed', () => {
  const bin = join(import.meta.dirname, '../bin/indelible.js');
  const args = ['--no-experimental-strip-types', bin, '--version'];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  expect([status, stderr]).toEqual([2, expect.stringContaining('indelible: it needs Node 24')]);
});

test('a catalogue file that never ends is refused after a megabyte', async () => {
  const env = { ...nowhere, CATALOGUE_FILE: '/dev/zero' };
  const { status, stderr } = await runCli(['verify', tenantId], { env });
  expect([status, stderr]).toEqual([2, expect.stringContaining('longer than 1048576 bytes')]);
});

test('help that was asked for is fine; no command, an unknown one and wrong options are not', async () => {
  const wrong = [
    [],
    ['imprt'],
    ['tail', '--tenant', '!acme'],
    ['tail', '--tenant', tenantId, '--lines', '1.5'],
    ['tenant', 'create', 'Acme', '--plan'],
    ['key', 'create', '--name', 'x', '--scope', 'events:read'],
    ['key', 'list', '--platform', '--tenant', tenantId],
    ['serve', '--role', 'boss'],
    ['serve', '--role', 'worker', '--demo'],
    ['import', join(folder, 'missing.ndjson')],
    ['import', 'x', '--create-tenants', 'Free'],
  ];
  for (const args of wrong) {
    const { status, stdout, stderr } = await runCli(args, { env: nowhere });
    expect([args, status, stdout]).toEqual([args, 2, '']);
    expect(stderr).not.toBe('');
  }
  const help = await runCli(['import', '--help']);
  expect([help.status, help.stderr]).toEqual([0, '']);
});

test('every command takes --json, also one with further commands', async () => {
  for (const command of ['serve', 'distribute', 'tenant create', 'rules remove']) {
    const { stdout } = await runCli([...command.split(' '), '--help']);
    expect(stdout, command).toContain('--json');
  }
});

test('a service that cannot be reached is status 3, in one sentence without the key', async () => {
  const { status, stdout, stderr } = await runCli(['tenant', 'list'], { env: nowhere });
  expect([status, stdout]).toEqual([3, '']);
  expect(stderr).toMatch(/^indelible: http:\/\/127\.0\.0\.1:2 cannot be reached: [^\n]+\n$/);
  expect(stderr).not.toContain('secret-of-the-test');
});

test('a command without a key sends nothing and names the ways to give one', async () => {
  const { status, stderr } = await runCli(['tenant', 'list'], { env: { DATA_DIR: folder } });
  expect(status).toBe(2);
  expect(stderr).toContain('INDELIBLE_API_KEY');
});

test('the key kept in the data folder is used when there is no other, and only its path is told', async () => {
  writeFileSync(join(folder, 'platform-api-key'), 'idl_kept-secret\n', { mode: 0o600 });
  const env = { INDELIBLE_URL: nowhere.INDELIBLE_URL, DATA_DIR: folder };
  const { status, stderr } = await runCli(['tenant', 'list'], { env });
  expect(status).toBe(3);
  expect(stderr).toContain(`using the platform key kept in ${join(folder, 'platform-api-key')}\n`);
  expect(stderr).not.toContain('kept-secret');
});

test('the key kept in the data folder is sent to no other machine', async () => {
  writeFileSync(join(folder, 'platform-api-key'), 'idl_kept-secret\n', { mode: 0o600 });
  const env = { INDELIBLE_URL: 'https://audit.invalid', DATA_DIR: folder };
  const { status, stderr } = await runCli(['tenant', 'list'], { env });
  expect([status, stderr]).toEqual([
    2,
    expect.stringContaining('the operator of the service can make one'),
  ]);
  expect(stderr).not.toContain('using the platform key');
});

test('a key is not sent over plain http to another machine unless --insecure allows it', async () => {
  const env = { ...nowhere, INDELIBLE_URL: 'http://192.0.2.1:2' };
  const { status, stderr } = await runCli(['tenant', 'list'], { env });
  expect(status).toBe(2);
  expect(stderr).toContain('--insecure');
});

test('the process ends with the status of its command, which loads no server to call one', async () => {
  const trace = join(folder, 'loaded.txt');
  const hook = join(folder, 'hook.mjs');
  writeFileSync(
    hook,
    `import { registerHooks } from 'node:module';
     import { appendFileSync } from 'node:fs';
     registerHooks({ load(url, context, next) {
       appendFileSync(${JSON.stringify(trace)}, url + '\\n');
       return next(url, context);
     } });`,
  );
  const env = { ...nowhere, NODE_OPTIONS: `--import ${hook}` };
  const ended = await new RunningCli(['tenant', 'list'], { env, input: '' }).ended();
  expect(ended).toMatchObject({ status: 3, stdout: '' });
  expect(ended.stderr).toMatch(/^indelible: http/);
  expect(existsSync(trace)).toBe(true);
  const loaded = readFileSync(trace, 'utf8');
  expect(loaded).toContain('/packages/client/');
  // Two files of the server that load no other: bundles and archives are read by them.
  expect(loaded).not.toMatch(
    /\/packages\/server\/src\/(?!objects\/inside-folder\.ts|postgres\/embedded\/error-code\.ts)/,
  );
});

test('the status is what was found, also for a reader that goes away; a full disk is said in words', () => {
  const path = join(import.meta.dirname, 'main.ts');
  const shell = (script: string) =>
    spawnSync('bash', ['--norc', '-c', script, process.execPath, path], {
      encoding: 'utf8',
      // What `doctor` finds: a port that is none.
      env: { PATH: process.env.PATH, DATA_DIR: folder, PORT: 'none' },
    });
  const gone = shell('"$0" "$1" doctor | true; exit $' + '{PIPESTATUS[0]}');
  expect([gone.status, gone.stderr]).toEqual([1, '']);
  // What tells of progress must not end the work, which goes on to the service that is away.
  const silent = shell(
    'INDELIBLE_API_KEY=x "$0" "$1" verify --reason x --url http://127.0.0.1:2 ' +
      `${tenantId} 2>&1 >/dev/null | true; exit $` +
      '{PIPESTATUS[0]}',
  );
  expect(silent.status).toBe(3);
  const full = shell('"$0" "$1" --help > /dev/full');
  expect([full.status, full.stderr]).toEqual([
    1,
    'indelible: the output cannot be written: no space left on device\n',
  ]);
});
