import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { askForJob, exportUntil } from '@indelible/testing/exports';
import { newFolder } from '@indelible/testing/folders';
import { expectLogIntact } from '@indelible/testing/intact';
import { type HttpCall, RunningService } from '@indelible/testing/running-service';
import {
  type Answer,
  type CallOptions,
  eventOf,
  platformKey,
  testService,
} from '@indelible/testing/service';
import pg from 'pg';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { openDatabase, readTenant, type TenantTx } from '../packages/server/src/postgres/db.ts';
import { freePort } from './testing/free-port.ts';

/* Debian's PgBouncer, in transaction mode, between the service and PostgreSQL. */

const folder = newFolder();
chmodSync(folder, 0o755); // for the account that PgBouncer runs under
const service = await testService();
const running: ChildProcess[] = [];
afterAll(async () => {
  for (const each of running) if (each.kill('SIGINT')) await once(each, 'exit');
});

/** Starts it with these further settings, before this database; returns its URL. */
async function pgbouncer(more = '', before = service.servingUrl): Promise<string> {
  const port = await freePort();
  const url = new URL(before);
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

async function connect(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  return client;
}

const isThere = (url: string) =>
  connect(url).then(
    (client) => client.end().then(() => true),
    () => false,
  );

type Tenant = { id: string; key: string };
type Listed = { resource: { id: string } };

const environment = (urls: object) => ({
  ...urls,
  PLATFORM_API_KEY: platformKey,
  DATA_DIR: join(folder, 'data'),
});

/** The process that a pooled connection ends at, and what an earlier transaction has left there. */
const asked = {
  text: `SELECT pg_backend_pid() AS pid, current_user AS role, current_setting('app.tenant_id', true) AS tenant`,
};

test('a service works for many tenants over two connections of PgBouncer', async () => {
  const DATABASE_POOLER_URL = await pgbouncer('default_pool_size = 2\nadmin_users = anyone');
  const urls = { DATABASE_URL: service.servingUrl, DATABASE_POOLER_URL };
  const started = await new RunningService(environment(urls)).started();
  onTestFinished(async () => void (await started.end('SIGKILL')));
  const call = ({ url: path, ...rest }: CallOptions) =>
    started.call({ path, ...rest } as HttpCall) as unknown as Promise<Answer>;
  const tenants = await Promise.all(Array.from({ length: 6 }, () => service.tenant()));
  const url = '/api/audit-logs';
  const record = async ({ key, id }: Tenant) => {
    const body = eventOf({ resource: { type: 'queue', id, name: 'Queue' } });
    expect((await call({ method: 'POST', url, key, body })).status).toBe(201);
  };
  for (let round = 0; round < 5; round++) await Promise.all(tenants.map(record));
  const list = async ({ key, id }: Tenant) => {
    const { status, body } = await call({ url: `${url}?resource=queue`, key });
    expect(status, JSON.stringify(body)).toBe(200);
    expect(new Set(body.data.map((event: Listed) => event.resource.id))).toEqual(new Set([id]));
    expect(body.data).toHaveLength(5);
  };
  await Promise.all(Array.from({ length: 10 }, () => tenants.map(list)).flat());
  for (const { key, id } of tenants) {
    const job = await askForJob({ call }, key);
    expect(
      await exportUntil({ call }, key, job.id, ({ status }) => status === 'ready'),
    ).toBeDefined();
    await expectLogIntact(service, id);
  }
  const admin = await connect(DATABASE_POOLER_URL.replace(/through$/, 'pgbouncer'));
  const count = async (what: string) => {
    const { rows } = await admin.query(`SHOW ${what}`);
    return rows.filter(({ database }) => database === 'through').length;
  };
  expect(await count('SERVERS')).toBeLessThanOrEqual(2);
  expect(await count('CLIENTS')).toBeGreaterThan(2);
  await admin.end();
  expect(await started.end('SIGTERM')).toBe(0);
}, 120_000);

test('no transaction leaves its tenant or its role on a connection of PgBouncer', async () => {
  const poolerUrl = await pgbouncer('default_pool_size = 1');
  const db = openDatabase(service.servingUrl, { poolSize: 4, poolerUrl, onIdleError: () => {} });
  const other = await connect(poolerUrl);
  const left = async () => (await other.query(asked)).rows[0];
  const nothing = { role: new URL(service.servingUrl).username, tenant: '' };

  const tenants = Array.from({ length: 40 }, () => randomUUID());
  const seen = tenants.map((id) =>
    readTenant(db, id, async (tx) => (await tx.query(asked)).rows[0]),
  );
  const answers = await Promise.all(seen);
  expect(answers.map((row) => row?.tenant)).toEqual(tenants);
  expect(new Set(answers.map((row) => row?.role))).toEqual(new Set(['indelible_reader']));
  const { pid } = answers[0] ?? {};
  expect(new Set(answers.map((row) => row?.pid))).toEqual(new Set([pid]));
  expect(await left()).toEqual({ ...nothing, pid });

  const wrong = readTenant(db, randomUUID(), (tx) => tx.query({ text: 'SELECT 1 / 0' }));
  await expect(wrong).rejects.toThrow('division by zero');
  expect(await left()).toEqual({ ...nothing, pid });

  const gone = new AbortController();
  const asking = (tx: TenantTx) => {
    setImmediate(() => gone.abort());
    return tx.query({ text: 'SELECT pg_sleep(600)' });
  };
  await expect(readTenant(db, randomUUID(), asking, gone.signal)).rejects.toThrow();
  const { role, tenant } = await left();
  expect([role, tenant || '']).toEqual([nothing.role, nothing.tenant]);
  await other.end();
  await db.close();
});

test.each([
  ['as it is installed', '', /unsupported startup parameter/],
  [
    'that drops what it does not know',
    'ignore_startup_parameters = options',
    /no role indelible_reader: name PostgreSQL itself in DATABASE_URL/,
  ],
])(
  'a service whose DATABASE_URL is a PgBouncer %s does not start, and says why',
  async (_, more, sentence) => {
    const started = new RunningService(environment({ DATABASE_URL: await pgbouncer(more) }));
    expect(await started.refusal()).toMatch(sentence);
  },
);

test('a service whose PgBouncer leads to another database does not start', async () => {
  const another = await testService();
  const DATABASE_POOLER_URL = await pgbouncer('', another.servingUrl);
  const urls = { DATABASE_URL: service.servingUrl, DATABASE_POOLER_URL };
  const started = new RunningService(environment(urls));
  expect(await started.refusal()).toBe(
    'DATABASE_POOLER_URL leads to another database than DATABASE_URL',
  );
});
