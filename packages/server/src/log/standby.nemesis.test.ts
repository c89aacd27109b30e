import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { connectionUrl } from '../postgres/embedded/postmaster.ts';
import { migrate } from '../postgres/migrate.ts';
import { checkpointOf } from '../testing/checkpoints.ts';
import { endServer, Service } from '../testing/embedded-postgres-service.ts';
import { expectLogIntact } from '../testing/intact.ts';
import { callOn, eventOf, serviceOn } from '../testing/service.ts';

/* Failover to a real standby: what commits wait for is not lost, and what is lost is found. */

const folder = mkdtempSync(join(tmpdir(), 'indelible-standby-'));
chmodSync(folder, 0o711); // as root PostgreSQL runs under another account
afterAll(() => rmSync(folder, { recursive: true, maxRetries: 10 }));

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

/** Commits on the server wait for this standby, or for none. */
async function waitFor(server: Server, standbys: string): Promise<void> {
  await server.asAdmin(async (client) => {
    await client.query(`ALTER SYSTEM SET synchronous_standby_names = '${standbys}'`);
    await client.query('SELECT pg_reload_conf()');
  });
}

async function promote(standby: Server): Promise<void> {
  await standby.asAdmin((client) => client.query('SELECT pg_promote()'));
}

const clock = { now: Date.now() };
let services = 0;

/** The service of an installation, on one server and then on the other. */
function installation() {
  const DATA_DIR = join(folder, `service-${services++}`);
  mkdirSync(DATA_DIR);
  return async (server: Server) => {
    const { app, db } = await serviceOn(server.servingUrl, clock, { DATA_DIR });
    onTestFinished(async () => {
      await app.http.close();
      await db.close();
    });
    const record = (key: string) =>
      callOn(app, { method: 'POST', url: '/api/audit-logs', key, body: eventOf() });
    const ready = async () => (await callOn(app, { url: '/readyz', key: null })).status;
    return { app, record, ready, tick: () => app.checkpoints.tick() };
  };
}

async function newTenant(app: Parameters<typeof callOn>[0]) {
  const id = crypto.randomUUID();
  const body = { name: 'Tenant', plan: 'Pro' };
  await callOn(app, { method: 'PUT', url: `/api/tenants/${id}`, body });
  const key = await callOn(app, {
    method: 'POST',
    url: `/api/tenants/${id}/api-keys`,
    body: { name: 'test', scopes: ['events:write', 'events:read'] },
  });
  return { id, key: key.body.key as string };
}

test('a failover loses nothing that waited for the standby, and what did not is found', async () => {
  const serve = installation();
  const primary = await startServer('a');
  await migrate(primary.ownerUrl, primary.servingUrl);
  const second = await startStandby(primary, 'b');
  await waitFor(primary, 'ANY 1 (b)');
  const first = await serve(primary);
  const { id, key } = await newTenant(first.app);
  for (let n = 0; n < 5; n++) expect((await first.record(key)).status).toBe(201);
  await first.tick();
  const { rows: waiting } = await primary.asAdmin((client) =>
    client.query('SELECT application_name, sync_state FROM pg_stat_replication'),
  );
  expect(waiting).toEqual([{ application_name: 'b', sync_state: 'quorum' }]);
  const answered: string[] = [];
  const producer = async () => {
    for (;;) {
      const { status, body } = await first.record(key);
      if (status !== 201) return;
      answered.push(body.id);
    }
  };
  const producers = [producer(), producer(), producer()];
  while (answered.length < 30) await first.record(key);
  await primary.kill();
  await Promise.all(producers);
  await promote(second);

  const next = await serve(second);
  await next.tick();
  expect(await next.ready()).toBe(200);
  for (const event of answered) {
    expect((await callOn(next.app, { url: `/api/audit-logs/${event}`, key })).status).toBe(200);
  }
  await second.asAdmin((owner) => expectLogIntact({ owner }, id));

  // Now one that nothing waits for: it is away while the last events come.
  const third = await startStandby(second, 'c');
  await third.kill();
  expect((await next.record(key)).status).toBe(201);
  await next.tick();
  const { size } = await checkpointOf(next.app, key);
  await second.kill();
  const started = await startServer('c');
  await promote(started);
  const behind = await serve(started);
  await behind.tick();
  expect(await behind.ready()).toBe(503);
  expect((await behind.record(key)).status).toBe(503);
  await started.asAdmin(async (owner) => {
    const { rows } = await owner.query('SELECT halted, size::int FROM log_rounds, log_heads');
    expect(rows[0].halted).toMatch(/checkpoint round \d+ is already published/);
    expect(rows[0].size).toBeLessThan(size);
  });
}, 120_000);
