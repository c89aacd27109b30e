import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { endServer, Service } from '@indelible/testing/embedded-postgres-service';
import { newFolder } from '@indelible/testing/folders';
import { expectLogIntact } from '@indelible/testing/intact';
import { PostgresProxy } from '@indelible/testing/postgres-proxy';
import { RunningService } from '@indelible/testing/running-service';
import { eventOf, platformKey } from '@indelible/testing/service';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { connectionUrl } from '../postgres/embedded/postmaster.ts';
import { migrate } from '../postgres/migrate.ts';

/* Failover to a real standby: what commits wait for is not lost, and what is lost is found. */

const folder = newFolder();
chmodSync(folder, 0o711); // as root PostgreSQL runs under another account

/** A PostgreSQL with a data folder of its own, run by another process. */
async function startServer(name: string) {
  const dataDir = join(folder, name);
  const child = await new Service({ dataDir }).started();
  if (child.error) throw new Error(child.error);
  const kill = async () => {
    await child.end('SIGKILL'); // or it would start the server again
    await endServer(dataDir, 'SIGQUIT');
  };
  onTestFinished(kill);
  const socket = new URL(child.ownerUrl).searchParams.get('host') ?? '';
  const password = readFileSync(join(dataDir, 'postgresql-app.password'), 'utf8').trim();
  const servingUrl = connectionUrl(socket, 'indelible_app', password, 'indelible');
  const asAdmin = async <T>(work: (client: pg.Client) => Promise<T>) => {
    const options = '-c search_path=indelible';
    const client = new pg.Client({ connectionString: child.ownerUrl, options });
    await client.connect();
    return work(client).finally(() => client.end());
  };
  return { name, dataDir, ownerUrl: child.ownerUrl, servingUrl, asAdmin, kill };
}

type Server = Awaited<ReturnType<typeof startServer>>;

/** A standby that streams from the server, made of a copy of its files. */
async function startStandby(primary: Server, name: string): Promise<Server> {
  const dataDir = join(folder, name);
  mkdirSync(dataDir, { mode: 0o711 });
  const from = realpathSync(join(primary.dataDir, 'postgresql'));
  const home = join(dataDir, 'postgresql');
  mkdirSync(home, { mode: 0o711 });
  for (const file of ['postgresql-admin.password', 'postgresql-app.password']) {
    cpSync(join(primary.dataDir, file), join(dataDir, file));
  }
  await primary.asAdmin(async (client) => {
    await client.query("SELECT pg_backup_start('standby', fast => true)");
    execFileSync('cp', ['-a', join(from, 'data'), home]);
    const { rows } = await client.query('SELECT labelfile FROM pg_backup_stop(false)');
    const data = join(home, 'data');
    rmSync(join(data, 'postmaster.pid'));
    const url = new URL(primary.ownerUrl);
    const at = `host=${url.searchParams.get('host')} port=${url.port} user=${url.username}`;
    const conninfo = `${at} password=${url.password} application_name=${name}`;
    writeFileSync(join(data, 'backup_label'), rows[0].labelfile);
    writeFileSync(join(data, 'standby.signal'), '');
    appendFileSync(join(data, 'postgresql.auto.conf'), `primary_conninfo = '${conninfo}'\n`);
    const { uid, gid } = statSync(data);
    for (const file of ['backup_label', 'standby.signal']) chownSync(join(data, file), uid, gid);
  });
  return startServer(name);
}

/* What docs/operations/postgresql.md says. */
const page = readFileSync(
  join(import.meta.dirname, '../../../../docs/operations/postgresql.md'),
  'utf8',
);
const [, settings = ''] = /```\n(wal_level[\s\S]*?)```/.exec(page) ?? [];
const [, failOver = ''] = /\*\*To fail over[\s\S]*?```sql\n([\s\S]*?)```/.exec(page) ?? [];

/** Commits on the server wait for its replicas. */
async function waitForReplicas(server: Server): Promise<void> {
  expect(settings).toContain('ANY 1 (replica_a');
  await server.asAdmin(async (client) => {
    for (const setting of settings.trim().split('\n')) {
      await client.query(`ALTER SYSTEM SET ${setting}`);
    }
    await client.query('SELECT pg_reload_conf()');
  });
}

const waitFor = (server: Server, standbys: string) =>
  server.asAdmin(async (client) => {
    await client.query(`ALTER SYSTEM SET synchronous_standby_names = '${standbys}'`);
    await client.query('SELECT pg_reload_conf()');
  });

/** With the statements of the documentation, for a standby that has none itself. */
async function promote(standby: Server): Promise<void> {
  const statements = failOver.replace("'replica_b'", "''").split(';\n').filter(Boolean);
  expect(statements).toHaveLength(3);
  await standby.asAdmin(async (client) => {
    for (const statement of statements) await client.query(statement);
  });
}

const DATA_DIR = join(folder, 'service');

/** The installation's service, as a process. */
async function startService(DATABASE_URL: string): Promise<RunningService> {
  const env = { DATABASE_URL, DATA_DIR, PLATFORM_API_KEY: platformKey, LOG_LEVEL: 'fatal' };
  const service = await new RunningService(env).started();
  onTestFinished(async () => void (await service.end('SIGKILL')));
  return service;
}

async function newTenant(service: RunningService) {
  const path = `/api/tenants/${crypto.randomUUID()}`;
  const { body } = await service.call({ method: 'PUT', path, body: { name: 'Acme', plan: 'Pro' } });
  const key = await service.call({
    method: 'POST',
    path: `${path}/api-keys`,
    body: { name: 'test', scopes: ['events:write', 'events:read'] },
  });
  return { id: body.id as string, key: key.body.key as string };
}

const record = (service: RunningService, key: string) =>
  service.call({ method: 'POST', path: '/api/audit-logs', key, body: eventOf() });
const ready = async (service: RunningService) => (await service.call({ path: '/readyz' })).status;

async function logState(server: Server) {
  const question = 'SELECT round, halted, size::int FROM log_rounds, log_heads';
  return (await server.asAdmin((client) => client.query(question))).rows[0];
}

test('a service goes on at a promoted standby, which has all that waited for it; one that lacks events is found', async () => {
  const primary = await startServer('primary');
  await migrate(primary.ownerUrl, primary.servingUrl);
  const second = await startStandby(primary, 'replica_a');
  await waitForReplicas(primary);
  const address = new PostgresProxy(primary.servingUrl);
  onTestFinished(() => address.close());
  const service = await startService(await address.open(primary.servingUrl));
  const { id, key } = await newTenant(service);
  const { rows: waiting } = await primary.asAdmin((client) =>
    client.query('SELECT application_name, sync_state FROM pg_stat_replication'),
  );
  expect(waiting).toEqual([{ application_name: 'replica_a', sync_state: 'quorum' }]);
  const answered: string[] = [];
  const producer = async () => {
    for (;;) {
      const { status, body } = await record(service, key);
      if (status !== 201) return;
      answered.push(body.id);
    }
  };
  const producers = [producer(), producer(), producer()];
  while (answered.length < 30) await record(service, key);
  await primary.kill();
  await Promise.all(producers);
  address.leadTo(second.servingUrl);
  const refusal = async () => (await record(service, key)).body.detail;
  await expect.poll(refusal).toMatch(/read-only/);
  await promote(second);

  await expect.poll(async () => (await record(service, key)).status).toBe(201);
  expect(await ready(service)).toBe(200);
  await waitFor(second, 'replica_b');
  const answer = async () => (await service.call({ path: '/readyz' })).body.detail;
  await expect.poll(answer).toBe('commits wait for a replica, and none is connected');
  await waitFor(second, '');
  await expect.poll(() => ready(service)).toBe(200);
  for (const event of answered) {
    expect((await service.call({ path: `/api/audit-logs/${event}`, key })).status).toBe(200);
  }
  await second.asAdmin((owner) => expectLogIntact({ owner }, id));

  // Now one that nothing waits for: it is away while the last events come.
  const third = await startStandby(second, 'late');
  await third.kill();
  expect((await record(service, key)).status).toBe(201);
  expect(await service.end('SIGTERM')).toBe(0); // with a last checkpoint
  const { size, halted } = await logState(second);
  expect(halted).toBeNull();
  await second.kill();
  const started = await startServer('late');
  await promote(started);
  const behind = await startService(started.servingUrl);
  expect(await ready(behind)).toBe(503);
  expect((await record(behind, key)).status).toBe(503);
  const found = await logState(started);
  expect(found.halted).toMatch(/checkpoint round \d+ is already published/);
  expect(found.size).toBeLessThan(size);
});
