import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { RunningCli } from '../testing/run-cli.ts';
import { servedFolder } from '../testing/served-folder.ts';

/* A process of the service is killed, or told to stop while it starts. */

const { folder, dataDir, start, ready } = servedFolder();

/** The processes that this one has started to serve. */
function pidsBelow({ process }: RunningCli): string[] {
  const asked = ['-P', String(process.pid), '-f', 'main.ts serve'];
  return spawnSync('pgrep', asked, { encoding: 'utf8' }).stdout.split('\n').filter(Boolean);
}

test('several processes share a port: their metrics are summed, one that is killed is replaced, and no acknowledged event is lost', async () => {
  const key = `idl_platform_${'key-of-a-file'.repeat(3)}`;
  const keyFile = join(folder, 'platform-key');
  writeFileSync(keyFile, `${key}\n`);
  const { cli, url } = await ready(start(['--processes', '2'], { PLATFORM_API_KEY_FILE: keyFile }));
  const example = '5f0c6a52-3f0e-4b8e-9d5c-0a1b2c3d4e5f';
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const tenant = JSON.stringify({ name: 'Example', plan: 'Pro' });
  await fetch(`${url}/api/tenants/${example}`, { method: 'PUT', headers, body: tenant });
  const record = async (n: number) => {
    const id = `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
    const actor = { id, email: 'ana@example.com', role: 'admin' };
    const resource = { type: 'queue', id, name: `Processes ${n}` };
    const body = JSON.stringify({ tenantId: example, actor, action: 'update', resource });
    // A connection of its own: each goes to the next process.
    const more = { ...headers, connection: 'close' };
    const answer = await fetch(`${url}/api/audit-logs`, { method: 'POST', headers: more, body });
    return ((await answer.json()) as { id: string }).id;
  };
  const recorded = await Promise.all(Array.from({ length: 20 }, (_, n) => record(n)));
  const counted = async () => {
    const metrics = await (await fetch(`${url}/metrics`)).text();
    return Number(/^indelible_events_total{category="configuration"} (\d+)$/m.exec(metrics)?.[1]);
  };
  expect(await counted()).toBe(20);

  const pids = () => pidsBelow(cli);
  const before = pids();
  expect(before.length).toBe(2);
  const during = Array.from({ length: 60 }, (_, n) => record(100 + n).catch(() => null));
  process.kill(Number(before[0]), 'SIGKILL');
  expect(await counted().catch(counted)).toBeGreaterThanOrEqual(20);
  recorded.push(...(await Promise.all(during)).filter((id) => id !== null));
  expect(recorded.length).toBeGreaterThan(20);
  await expect.poll(() => pids().filter((pid) => !before.includes(pid)).length).toBe(1);
  const reading = { ...headers, 'x-tenant-id': example, 'x-access-reason': 'counting' };
  const answer = await fetch(`${url}/api/audit-logs?action=update&limit=100`, { headers: reading });
  const { data } = (await answer.json()) as { data: { id: string }[] };
  expect(data.map(({ id }) => id)).toEqual(expect.arrayContaining(recorded));

  cli.process.kill('SIGTERM');
  expect((await cli.ended()).status).toBe(0);
  expect(pids()).toEqual([]);
  expect(existsSync(join(dataDir, 'postgresql', 'data', 'postmaster.pid'))).toBe(false);
});

test('while an ended process cannot be replaced the others serve, and it is replaced once it can be', async () => {
  const node = join(folder, 'node');
  copyFileSync(process.execPath, node);
  const { cli, url } = await ready(start(['--processes', '2'], { LOG_LEVEL: 'error' }, node));
  const before = pidsBelow(cli);
  rmSync(node);
  process.kill(Number(before[0]), 'SIGKILL');
  await expect.poll(() => cli.stderr).toContain('ENOENT');
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  copyFileSync(process.execPath, node);
  await expect.poll(() => pidsBelow(cli).length).toBe(2);
  expect(pidsBelow(cli)).not.toEqual(before);
});

test('a signal during the start, also that of a closed terminal, is obeyed once the start is over, and leaves no database behind', async () => {
  const cli = start([], { DATA_DIR: join(folder, 'cut-off'), LOG_LEVEL: 'info' });
  await expect.poll(() => cli.stderr).toContain('making a database');
  cli.process.kill('SIGHUP');
  expect((await cli.ended()).status).toBe(0);
  const data = join(folder, 'cut-off', 'postgresql', 'data');
  expect(existsSync(join(data, 'PG_VERSION'))).toBe(true);
  expect(existsSync(join(data, 'postmaster.pid'))).toBe(false);
});
