import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { emptyDatabase } from '@indelible/testing/empty-database';
import { platformKey } from '@indelible/testing/service';
import { expect, test } from 'vitest';
import { RunningCli, runCli } from '../testing/run-cli.ts';
import { servedFolder } from '../testing/served-folder.ts';
import { startEnvironment } from './serve.ts';

/*
 * The command as a process of its own: what it prints, how it is told to stop, and what the next
 * start finds. Each start goes on with what the one before left.
 */

const { folder, dataDir, env, start, serving, ready } = servedFolder();

/** A stand-in for curl, so that the commands are tried by a shell on every machine. */
function shellWithCurl(): Record<string, string> {
  const bin = join(folder, 'bin');
  mkdirSync(bin, { recursive: true });
  const script = `#!${process.execPath}
    const args = process.argv.slice(2);
    const request = { method: 'GET', headers: {} };
    let url;
    for (let at = 0; at < args.length; at++) {
      if (args[at] === '-X') request.method = args[++at];
      else if (args[at] === '-d') { request.body = args[++at]; if (request.method === 'GET') request.method = 'POST'; }
      else if (args[at] === '-H') { const [name, value] = args[++at].split(': '); request.headers[name] = value; }
      else url = args[at];
    }
    fetch(url, request).then(async (answer) => console.log(JSON.stringify({ status: answer.status, body: await answer.json() })));`;
  writeFileSync(join(bin, 'curl'), script, { mode: 0o755 });
  return { PATH: [bin, process.env.PATH].join(delimiter) };
}

function commandsOf(banner: string): string[] {
  return [...banner.matchAll(/^ {2}curl [\s\S]*?(?=\n\n)/gm)].map(([command]) => command);
}

test('a terminal shows the banner without log lines; a file and LOG_LEVEL keep them', () => {
  const onTerminal = Object.assign(new PassThrough(), { isTTY: true });
  expect(startEnvironment({ env: { PORT: '1' }, stderr: onTerminal })).toEqual({
    PORT: '1',
    LOG_LEVEL: 'warn',
  });
  for (const io of [
    { env: {}, stderr: new PassThrough() },
    { env: { LOG_LEVEL: 'info' }, stderr: onTerminal },
  ]) {
    expect(startEnvironment(io)).toEqual(io.env);
  }
});

test('a first start: the commands of its banner work as they are, no key is printed, and it stops once and cleanly', async () => {
  const { cli, url } = await serving();
  expect(cli.stdout).toContain(`${url}/docs`);
  expect(cli.stdout).toContain(join(dataDir, 'platform-api-key'));
  expect(statSync(join(dataDir, 'platform-api-key')).mode & 0o777).toBe(0o600);
  // Without a tenant there is no panel to open, but the way to make a link.
  expect(cli.stdout).not.toContain('/enter#');
  expect(cli.stdout).toContain('/api/viewer-links');
  const shell = shellWithCurl();
  const answers = commandsOf(cli.stdout).map((command) => {
    const { stdout } = spawnSync('/bin/sh', ['-c', command], { env: shell, encoding: 'utf8' });
    return JSON.parse(stdout);
  });
  expect(answers.map(({ status }) => status)).toEqual([201, 201, 200, 201]);
  const [, recorded, listed, link] = answers;
  expect(listed.body.data.map(({ id }: { id: string }) => id)).toContain(recorded.body.id);
  expect(await openedBy(link.body.url)).toEqual([200, 'Example']);

  const second = await new RunningCli(['serve'], { env, cwd: folder, input: '' }).ended();
  expect([second.status, second.stdout]).toEqual([1, '']);
  expect(second.stderr).toMatch(/^indelible: The data folder \S+ is in use by process \d+: .*\n$/);

  const sound = await runCli(['doctor', '--url', url], { env });
  expect(sound.stdout).toMatch(/^ok {4}service: /m);
  expect(sound.stdout).toMatch(/^ok {4}immutable events: /m);
  expect(sound.stdout).not.toMatch(/^fail/m);
  expect(sound.status).toBe(0);

  // Ctrl-C twice, as npm passes it on.
  cli.process.kill('SIGINT');
  cli.process.kill('SIGINT');
  expect((await cli.ended()).status).toBe(0);
  expect(cli.stdout + cli.stderr).not.toMatch(/idl_platform_/);

  const stopped = await runCli(['doctor', '--url', url, '--json'], { env });
  expect(stopped.status).toBe(1);
  const findings: { check: string; level: string }[] = JSON.parse(stopped.stdout);
  expect(findings.filter(({ level }) => level === 'fail')).toMatchObject([{ check: 'service' }]);
});

test('further starts find what the first one left; a demonstration is loaded once, and a link opens its panel', async () => {
  const keyFile = { PLATFORM_API_KEY_FILE: join(dataDir, 'platform-api-key') };
  const demo = await ready(start(['--demo'], keyFile));
  const [link = ''] = /http:\/\/127\.0\.0\.1:\d+\/enter#[\w-]{43}/.exec(demo.cli.stdout) ?? [];
  expect(demo.cli.stdout).toContain('The panel of Example opens with this link');
  expect(await openedBy(link)).toEqual([200, 'Example']);
  const first = await eventCount(demo.url);
  demo.cli.process.kill('SIGTERM');
  expect((await demo.cli.ended()).status).toBe(0);

  const { cli } = await serving('--demo', '--json');
  const { url, dataDir: kept, takenOver } = JSON.parse(cli.stdout);
  expect([kept, takenOver]).toEqual([dataDir, false]);
  const listed = await runCli(['tenant', 'list', '--url', url], { env });
  for (const name of ['Aurora Travel', 'Clínica Horizonte', 'Example']) {
    expect(listed.stdout).toContain(`  ${name}\n`);
  }
  expect(first).toBeGreaterThan(3_000);
  // The look itself is recorded, and so is the panel link's; the history is not there twice.
  expect((await eventCount(url)) - first).toBeLessThan(10);
});

async function eventCount(url: string): Promise<number> {
  const key = readFileSync(join(dataDir, 'platform-api-key'), 'utf8').trim();
  const from = new Date(Date.now() - 300 * 86_400_000).toISOString();
  const answer = await fetch(`${url}/api/audit-logs/stats?group_by=category&from=${from}`, {
    headers: {
      authorization: `Bearer ${key}`,
      'x-tenant-id': 'a0a0a0a0-0000-4000-8000-00000000a001',
      'x-access-reason': 'counting',
    },
  });
  const { total } = (await answer.json()) as { total: number };
  return total;
}

/** Signs in as the panel's page does; the status, and whose panel it is. */
async function openedBy(link: string): Promise<[number, string]> {
  const { origin, hash } = new URL(link);
  const answer = await fetch(`${origin}/api/session`, {
    method: 'POST',
    headers: { origin, 'content-type': 'application/json' },
    body: JSON.stringify({ token: hash.slice(1) }),
  });
  const { tenant } = (await answer.json()) as { tenant?: { name: string } };
  return [answer.status, tenant?.name ?? ''];
}

test('migrate brings a database up to date, the embedded one or another, and says so when it is', async () => {
  const { status, stdout } = await runCli(['migrate', '--json'], { env });
  expect([status, JSON.parse(stdout)]).toEqual([0, { applied: [] }]);
  const empty = await emptyDatabase();
  const other = { ...env, PLATFORM_API_KEY: platformKey, ...empty.env };
  const fresh = await runCli(['migrate'], { env: other });
  expect([fresh.status, fresh.stdout]).toEqual([0, expect.stringMatching(/^applied 0001-/)]);
});

test('a demonstration is refused where a real service runs, and the variable that says so is named', async () => {
  const real = {
    DATABASE_URL: 'postgres://127.0.0.1:1/none',
    DATABASE_URL_FILE: '/run/secrets/database-url',
    PUBLIC_URL: 'https://audit.example.com',
  };
  for (const [name, value] of Object.entries(real)) {
    const { status, stderr } = await runCli(['serve', '--demo'], {
      env: { ...env, [name]: value },
    });
    expect(status).toBe(2);
    expect(stderr).toMatch(new RegExp(`--demo needs the embedded database.*: unset ${name}\n$`));
  }
});
