import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createClient } from '@indelible/client';
import { newFolder } from '@indelible/testing/folders';
import { platformKey } from '@indelible/testing/service';
import { beforeAll, expect, test } from 'vitest';
import { builtPanel } from '../../e2e/built-panel.ts';
import { buildServer } from './build.ts';

const run = promisify(execFile);

/* The service as an operator gets it: built here, installed and run in a folder of its own. */

const folder = newFolder();
// Root's PostgreSQL runs under another account, which has to pass through.
chmodSync(folder, 0o755);
const installed = join(folder, 'indelible');
beforeAll(async () => {
  await builtPanel();
  await buildServer(installed);
  await run('npm', ['ci', '--prefer-offline'], { cwd: installed });
}, 300_000);

test('the installed server takes at most 350 MB, with neither compiler, bundler nor tests', async () => {
  const { stdout } = await run('du', ['-sm', installed]);
  expect(Number.parseInt(stdout, 10)).toBeLessThanOrEqual(350);
  const packages = readdirSync(join(installed, 'node_modules'));
  expect(packages).toContain('fastify');
  for (const absent of ['vite', 'typescript', 'react', 'vitest', '@duckdb', '@oven', '@deno']) {
    expect(packages).not.toContain(absent);
  }
  for (const own of ['packages', 'deploy']) {
    const files = readdirSync(join(installed, own), { recursive: true, encoding: 'utf8' });
    expect(files.filter((path) => path.endsWith('.ts'))).toEqual([]);
  }
});

test('it starts by itself, serves the panel, exports, archives, and stops when it is told', async () => {
  const data = { DATA_DIR: join(folder, 'data'), PLATFORM_API_KEY: platformKey };
  const env = { ...process.env, ...data, PORT: '0', LOG_LEVEL: 'warn' };
  const command = join(installed, 'node_modules/.bin/indelible');
  const service = spawn(command, ['serve', '--json'], { cwd: installed, env });
  const exited = once(service, 'exit');
  const [line] = await Promise.race([once(service.stdout, 'data'), exited]);
  const { url } = JSON.parse(String(line)) as { url: string };
  const page = await fetch(`${url}/enter`);
  expect(page.status).toBe(200);
  const [, script = ''] = /src="(\/assets\/[\w.-]+\.js)"/.exec(await page.text()) ?? [];
  expect((await fetch(`${url}${script}`)).status).toBe(200);
  const tenantId = '0199c0de-4b1e-7a55-8d37-6c2f90ab1e24';
  const client = createClient({ url, key: platformKey, tenantId, reason: 'a trial' });
  await client.tenants.put(tenantId, { name: 'Tenant', plan: 'Enterprise' });
  const { id } = await client.exports.create({ format: 'csv' });
  const status = async () => (await client.exports.get(id)).status;
  await expect.poll(status, { timeout: 60_000 }).toBe('ready');
  // The first run comes a minute after the start.
  const archive = join(data.DATA_DIR, 'objects/archive');
  const archived = () =>
    existsSync(archive) ? readdirSync(archive, { recursive: true, encoding: 'utf8' }) : [];
  const part = expect.stringMatching(/\/_\d{12}-\d{12}\.json$/);
  await expect.poll(archived, { timeout: 120_000, interval: 1_000 }).toContainEqual(part);
  expect((await run(command, ['verify', archive], { cwd: installed, env })).stdout).toContain(
    'INTACT',
  );
  service.kill('SIGTERM');
  expect((await exited)[0]).toBe(0);
});
