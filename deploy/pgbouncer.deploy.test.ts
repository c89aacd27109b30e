import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, expect, test } from 'vitest';
import { RunningService } from '../packages/server/src/testing/running-service.ts';
import { platformKey, testService } from '../packages/server/src/testing/service.ts';
import { freePort } from './testing/free-port.ts';

/* Debian's PgBouncer between the service and PostgreSQL, which the service does not support. */

const folder = mkdtempSync(join(tmpdir(), 'indelible-pgbouncer-'));
chmodSync(folder, 0o755); // for the account that PgBouncer runs under
const service = await testService();
const running: ChildProcess[] = [];
afterAll(async () => {
  for (const each of running) if (each.kill('SIGINT')) await once(each, 'exit');
  rmSync(folder, { recursive: true });
  await service.close();
});

/** Starts it in transaction mode with these further settings; returns its URL. */
async function pgbouncer(more: string): Promise<string> {
  const port = await freePort();
  const url = new URL(service.servingUrl);
  const to = [
    `host=${url.searchParams.get('host')} port=${url.port || 5432}`,
    `dbname=${url.pathname.slice(1)} user=${url.username} password=${decodeURIComponent(url.password)}`,
  ].join(' ');
  const own = [
    `[databases]\nthrough = ${to}`,
    `[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = ${port}\nunix_socket_dir =`,
    `auth_type = any\npool_mode = transaction\n${more}`,
  ].join('\n');
  const file = join(folder, `${port}.ini`);
  writeFileSync(file, own, { mode: 0o644 });
  // Not as root, and only PostgreSQL's own account may enter the folder of its socket.
  const owner = execFileSync('stat', ['-c', '%U', `${url.searchParams.get('host')}`], {
    encoding: 'utf8',
  }).trim();
  const user = process.getuid?.() === 0 ? ['-u', owner] : [];
  running.push(spawn('/usr/sbin/pgbouncer', [...user, file], { stdio: 'ignore' }));
  const through = `postgres://anyone@127.0.0.1:${port}/through`;
  await expect.poll(() => isThere(through)).toBe(true);
  return through;
}

async function isThere(connectionString: string): Promise<boolean> {
  const client = new pg.Client({ connectionString });
  return client.connect().then(
    () => client.end().then(() => true),
    () => false,
  );
}

test.each([
  ['as it is installed', '', /unsupported startup parameter: options/],
  [
    'that drops what it does not know',
    'ignore_startup_parameters = options',
    /no role indelible_reader: connect to PostgreSQL itself, not to a pooler/,
  ],
])('a service behind a PgBouncer %s does not start, and says why', async (_, more, sentence) => {
  const started = new RunningService({
    DATABASE_URL: await pgbouncer(more),
    PLATFORM_API_KEY: platformKey,
    DATA_DIR: join(folder, 'data'),
  });
  expect(await started.refusal()).toMatch(sentence);
});
