import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { serverPid } from '@indelible/testing/embedded-postgres-service';
import { newFolder } from '@indelible/testing/folders';
import { expectLogIntact } from '@indelible/testing/intact';
import { callService, type HttpCall } from '@indelible/testing/running-service';
import { eventOf, platformKey, testService } from '@indelible/testing/service';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Environment } from './config.ts';
import { startService } from './main.ts';
import { logins } from './postgres/embedded/cluster.ts';
import { connectionUrl } from './postgres/embedded/postmaster.ts';
import type { Service } from './serve.ts';

/*
 * The service from an empty folder on; the tests go on with what the
 * ones before left. Signals are a matter of the command `serve`.
 */

const scratch = newFolder();
const dataDir = join(scratch, 'data');
const keyFile = join(dataDir, 'platform-api-key');
const started: Service[] = [];
const tenantId = randomUUID();
let firstKey: string;
let firstEvent: string;

async function serve(env: Environment = {}): Promise<Service> {
  const service = await startService({
    DATA_DIR: dataDir,
    PORT: '0',
    LOG_LEVEL: 'silent',
    ...env,
  });
  started.push(service);
  return service;
}

/**
 * The sentence of a start that must fail, and leaves
 * no PostgreSQL behind that was not there before.
 */
async function refusal(env: Environment): Promise<string> {
  const before = serverPid(dataDir);
  const sentence = await serve(env).then(
    () => 'it started',
    (error: Error) => error.message,
  );
  expect(serverPid(dataDir)).toBe(before);
  expect(sentence).not.toContain('\n');
  return sentence;
}

const keptKey = () => readFileSync(keyFile, 'utf8').trim();
const call = ({ url }: Service, { key = keptKey(), ...rest }: HttpCall) =>
  callService(url, { key, ...rest });

async function withOwner<T>(work: (owner: pg.Client) => Promise<T>): Promise<T> {
  const password = readFileSync(join(dataDir, 'postgresql-admin.password'), 'utf8').trim();
  const socket = join(dataDir, 'postgresql', 'socket');
  const owner = new pg.Client({
    connectionString: connectionUrl(socket, logins.owner.name, password, 'indelible'),
    options: '-c search_path=indelible',
  });
  owner.on('error', () => {});
  await owner.connect();
  try {
    return await work(owner);
  } finally {
    await owner.end();
  }
}

const record = (service: Service, name = 'Support') =>
  call(service, {
    method: 'POST',
    path: '/api/audit-logs',
    body: eventOf({ tenantId, resource: { type: 'queue', id: tenantId, name } }),
  });

beforeAll(async () => {
  const service = await serve({ DATABASE_POOL_SIZE: '60' });
  firstKey = keptKey();
  const body = { name: 'Tenant', plan: 'Enterprise' };
  const made = await call(service, { method: 'PUT', path: `/api/tenants/${tenantId}`, body });
  expect(made.status).toBe(201);
  firstEvent = (await record(service)).body.id;
  expect(service.takenOver).toBe(false);
  // The embedded PostgreSQL has room for the pools that were asked for.
  const { rows } = await withOwner((owner) => owner.query('SHOW max_connections'));
  expect(rows).toEqual([{ max_connections: '150' }]);
  // Retention has not run yet.
  const days = await withOwner((owner) =>
    owner.query("SELECT FROM pg_class WHERE relname ~ '^audit_events_\\d+_\\d{8}$'"),
  );
  expect(days.rowCount).toBeGreaterThanOrEqual(8);
  await service.stop();
  expect(serverPid(dataDir)).toBeUndefined();
});
afterEach(async () => {
  // A test that failed must not take the folder away from the next one.
  await Promise.all(started.splice(0).map((service) => service.stop()));
});
afterAll(() => rmSync(scratch, { recursive: true, maxRetries: 10 }));

test('the first start on an empty folder makes a platform key that only its owner can read', () => {
  expect(statSync(keyFile).mode & 0o777).toBe(0o600);
  expect(keptKey()).toBe(firstKey);
  expect(firstKey.length).toBeGreaterThanOrEqual(32);
});

test('a second start finds what the first one stored, and a further one is refused meanwhile', async () => {
  const service = await serve();
  expect(service.takenOver).toBe(false);
  expect(keptKey()).toBe(firstKey);
  expect(await refusal({})).toBe(
    `The data folder ${dataDir} is in use by process ${process.pid}: ` +
      'stop that one first; a second service needs a DATA_DIR of its own.',
  );
  expect((await record(service)).status).toBe(201);
  await withOwner(async (owner) => {
    const { rows } = await owner.query('SELECT id FROM audit_events WHERE sequence = 1');
    expect(rows.length).toBe(1);
    await expectLogIntact({ owner }, tenantId);
  });
  expect((await record(service, firstEvent)).body.sequence).toBe(3);
});

test('events accepted before the stop are recorded and answered, then PostgreSQL stops', async () => {
  const service = await serve();
  const size = (await record(service)).body.sequence + 1;
  const stopped = await withOwner(async (owner) => {
    await owner.query('BEGIN');
    await owner.query('SELECT FROM log_heads WHERE tenant_id = $1 FOR UPDATE', [tenantId]);
    const accepted = Array.from({ length: 6 }, (_, n) => record(service, `last ${n}`));
    await expect.poll(() => queued(service)).toBe(6);
    // A client that connects and sends nothing must not delay the end.
    const silent = connect(Number(new URL(service.url).port), '127.0.0.1');
    await once(silent, 'connect');
    const stops = [service.stop(), service.stop()]; // as two signals do
    await expect.poll(() => isRefusing(service)).toBe(true);
    expect(serverPid(dataDir)).toBeDefined();
    await owner.query('COMMIT');
    const answers = await Promise.all(accepted);
    expect(answers.map(({ status }) => status)).toEqual(accepted.map(() => 201));
    const sequences = answers.map(({ body }) => body.sequence).sort((a, b) => a - b);
    expect(sequences).toEqual(accepted.map((_, n) => size + n));
    return stops;
  });
  await Promise.all(stopped);
  expect(serverPid(dataDir)).toBeUndefined();
});

async function queued(service: Service): Promise<number> {
  const { text } = await call(service, { path: '/metrics', key: null });
  return Number(/^indelible_queue_events (\d+)/m.exec(text)?.[1]);
}

async function isRefusing(service: Service): Promise<boolean> {
  const { hostname, port } = new URL(service.url);
  const answer = await fetch(`http://${hostname}:${port}/healthz`, {
    headers: { connection: 'close' },
  }).catch(() => null);
  return answer === null;
}

test('a port that is taken is refused by a sentence that names PORT, and nothing is left running', async () => {
  const holder = createServer();
  await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
  const address = holder.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  expect(await refusal({ PORT: String(port) })).toBe(
    `port ${port} on 127.0.0.1 is taken; set PORT to another one`,
  );
  holder.close();
});

test('an address of another machine is refused by a sentence that names HOST', async () => {
  const outside = { PUBLIC_URL: 'https://audit.example.com', METRICS_TOKEN: 'a-token' };
  expect(await refusal({ HOST: '192.0.2.1', ...outside })).toMatch(
    /^the service cannot listen on HOST 192\.0\.2\.1: /,
  );
});

test('a platform key that others can read is refused, and not repaired', async () => {
  chmodSync(keyFile, 0o640);
  expect(await refusal({})).toBe(
    `The secret file ${keyFile} is open to others (mode 0640): chmod it to 0600.`,
  );
  expect(statSync(keyFile).mode & 0o777).toBe(0o640);
  chmodSync(keyFile, 0o600);
});

test('a wrong variable is refused by a sentence that names it, before anything is made', async () => {
  const elsewhere = join(scratch, 'never-made');
  expect(await refusal({ DATA_DIR: elsewhere, PORT: 'http' })).toBe(
    'PORT must be a whole number from 0 to 65535',
  );
  expect(existsSync(elsewhere)).toBe(false);
});

test('a data folder that cannot be made is refused by a sentence that names it', async () => {
  const DATA_DIR = join(keyFile, 'below-a-file');
  const DATABASE_URL = 'postgres://app@127.0.0.1:1/indelible';
  const external = { DATABASE_URL, PLATFORM_API_KEY: firstKey };
  const sentences = await Promise.all([refusal({ DATA_DIR }), refusal({ DATA_DIR, ...external })]);
  for (const sentence of sentences) expect(sentence).toContain(DATA_DIR);
});

test('a read-only database is refused by a sentence that says what to do', async () => {
  const { owner, servingUrl, close } = await testService();
  const { rows } = await owner.query<{ name: string }>('SELECT current_database() AS name');
  await owner.query(`ALTER DATABASE ${rows[0]?.name} SET default_transaction_read_only = on`);
  const env = { DATABASE_URL: servingUrl, PLATFORM_API_KEY: platformKey };
  expect(await refusal(env)).toMatch(/^the database is read-only.* name the primary/);
  await close();
});
