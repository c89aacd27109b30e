import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { eventIdFromUuid, eventUuid, uuidFromEventId } from '@indelible/protocol';
import pg from 'pg';
import { afterAll, expect, test } from 'vitest';
import type { App } from '../app.ts';
import { makeDataDir, openFolder } from '../testing/data-dir.ts';
import { endServer, serverPid } from '../testing/embedded-postgres-service.ts';
import { expectLogIntact } from '../testing/intact.ts';
import { expectNothingLost, Ledger, Load, send, sendAgain } from '../testing/load.ts';
import { PostgresProxy } from '../testing/postgres-proxy.ts';
import { RunningService } from '../testing/running-service.ts';
import { eventOf, platformKey, serviceOn, testService } from '../testing/service.ts';
import { administrator } from './embedded/cluster.ts';
import { connectionUrl } from './embedded/postmaster.ts';
import { startEmbeddedPostgres } from './embedded-postgres.ts';

/*
 * Real processes on a PostgreSQL of their own with
 * fsync on: the run's shared one must not be killed.
 */

const place = openFolder('durability');
const dataDir = join(place, 'embedded');
await makeDataDir(dataDir);
const cleanup: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const undo of cleanup.reverse()) await undo();
  await endServer(dataDir, 'SIGQUIT');
  rmSync(place, { recursive: true, maxRetries: 10 });
});

async function serve(env: Record<string, string>): Promise<RunningService> {
  const service = new RunningService(env);
  cleanup.push(() => service.end('SIGKILL'));
  return service.started();
}

const embedded = () => serve({ DATA_DIR: dataDir, PLATFORM_API_KEY: platformKey });

async function ownerOf(url: string): Promise<pg.Client> {
  const owner = new pg.Client({ connectionString: url, options: '-c search_path=indelible' });
  owner.on('error', () => {});
  await owner.connect();
  return owner;
}

/** The owner's connection to the embedded PostgreSQL of a data folder. */
function embeddedOwner(): Promise<pg.Client> {
  const password = readFileSync(join(dataDir, 'postgresql-admin.password'), 'utf8').trim();
  const socket = join(dataDir, 'postgresql', 'socket');
  return ownerOf(connectionUrl(socket, administrator, password, 'indelible'));
}

async function makeTenants(service: RunningService, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => randomUUID());
  for (const id of ids) {
    const body = { name: 'Tenant', plan: 'Enterprise' };
    const { status } = await service.call({ method: 'PUT', path: `/api/tenants/${id}`, body });
    expect(status).toBe(201);
  }
  return ids;
}

/** Waits until this many more events are acknowledged than now. */
async function expectProgress(ledger: Ledger, count: number): Promise<void> {
  const before = ledger.acknowledged.length;
  await expect
    .poll(() => ledger.acknowledged.length - before, { timeout: 30_000, interval: 20 })
    .toBeGreaterThan(count);
}

/** A service on a fresh database, whose every connection goes through a proxy that can break it. */
async function serviceBehindProxy(settings: Record<string, string> = {}) {
  const service = await testService();
  const proxy = new PostgresProxy(service.servingUrl);
  const url = new URL(await proxy.open(service.servingUrl));
  for (const [name, value] of Object.entries(settings)) url.searchParams.set(name, value);
  const folder = mkdtempSync(join(place, 'service-'));
  const { app, db } = await serviceOn(url.href, service.clock, { DATA_DIR: folder });
  cleanup.push(async () => {
    await app.http.close();
    await db.close();
    await proxy.close();
    await service.close();
  });
  const { id: tenantId } = await service.tenant();
  // Its partition is there afterwards, so that the next COMMIT is that of the events.
  expect((await post(app, tenantId, [idNow(service.clock.now)])).status).toBe(201);
  return { service, proxy, app, tenantId };
}

const idNow = (nowMs: number) => eventIdFromUuid(eventUuid(nowMs, randomBytes(10)));

/** Records events with these ids, one alone or several as a batch. */
async function post(app: App, tenantId: string, ids: string[]) {
  const events = ids.map((id) => eventOf({ tenantId, id }));
  const answer = await app.http.inject({
    method: 'POST',
    url: ids.length === 1 ? '/api/audit-logs' : '/api/audit-logs/batch',
    headers: { authorization: `Bearer ${platformKey}`, 'content-type': 'application/json' },
    payload: JSON.stringify(ids.length === 1 ? events[0] : { events }),
  });
  const body = answer.json();
  const sequences: number[] = [body.results ?? body]
    .flat()
    .map((each: { sequence: number }) => each.sequence);
  return { status: answer.statusCode, sequences };
}

/** Where these events are stored, in the order of their ids; those that are not are left out. */
async function sequencesOf(owner: pg.Client, tenantId: string, ids: string[]): Promise<number[]> {
  const { rows } = await owner.query<{ sequence: number }>(
    `SELECT sequence::int FROM audit_events JOIN unnest($2::uuid[]) WITH ORDINALITY AS w (i, n) ON id = i
      WHERE tenant_id = $1 ORDER BY n`,
    [tenantId, ids.map(uuidFromEventId)],
  );
  return rows.map(({ sequence }) => sequence);
}

test('a service killed under load has lost nothing that it acknowledged, and stored nothing twice', async () => {
  const ledger = new Ledger();
  let service = await embedded();
  const tenantIds = await makeTenants(service, 4);
  for (let round = 0; round < 2; round++) {
    const load = new Load(service, ledger, tenantIds, 24);
    await expectProgress(ledger, 200);
    const pid = serverPid(dataDir);
    await service.end('SIGKILL');
    await load.stop();
    service = await embedded();
    expect(service.takenOver).toBe(true);
    expect(serverPid(dataDir)).toBe(pid);
  }
  const statuses = await sendAgain(service, ledger);
  expect(statuses.length).toBeGreaterThan(0);
  expect(statuses.filter((status) => status !== 200 && status !== 201)).toEqual([]);
  const owner = await embeddedOwner();
  await expectNothingLost(owner, ledger);
  await owner.end();
  expect(await service.end('SIGTERM')).toBe(0);
}, 120_000);

test('a PostgreSQL that is killed or restarted under load costs 503 and nothing else, and comes back by itself', async () => {
  const ledger = new Ledger();
  const service = await embedded();
  const tenantIds = await makeTenants(service, 3);
  const load = new Load(service, ledger, tenantIds, 16);
  for (const signal of ['SIGKILL', 'SIGQUIT'] as const) {
    await expectProgress(ledger, 100);
    await endServer(dataDir, signal);
  }
  await expectProgress(ledger, 100);
  await load.stop();
  const kinds = [...ledger.statuses.keys()].sort();
  expect(kinds).toEqual([200, 201, 503]);
  expect(ledger.slowestMs).toBeLessThan(15_000);
  const statuses = await sendAgain(service, ledger);
  expect(statuses.filter((status) => status !== 200 && status !== 201)).toEqual([]);
  const owner = await embeddedOwner();
  await expectNothingLost(owner, ledger);
  await owner.end();
  expect(await service.end('SIGTERM')).toBe(0);
  expect(service.log).not.toContain('unexpected error');
}, 120_000);

test('two service processes write the same tenants without gaps or repeats, also when their PostgreSQL restarts or one of them stops', async () => {
  const postgres = await startEmbeddedPostgres({ dataDir, log: () => {} });
  cleanup.push(() => postgres.stop());
  const env = {
    DATA_DIR: dataDir,
    DATABASE_URL: postgres.servingUrl,
    PLATFORM_API_KEY: platformKey,
  };
  const [first, second] = await Promise.all([serve(env), serve(env)]);
  const tenantIds = await makeTenants(first, 2);
  const [one, other] = [new Ledger(), new Ledger()];
  const loads = [new Load(first, one, tenantIds, 10), new Load(second, other, tenantIds, 10)];
  await Promise.all([expectProgress(one, 100), expectProgress(other, 100)]);
  await endServer(dataDir, 'SIGKILL');
  await Promise.all([expectProgress(one, 100), expectProgress(other, 100)]);
  await Promise.all(loads.map((load) => load.stop()));
  await Promise.all([sendAgain(first, one), sendAgain(second, other)]);

  // The same new ids to both at the same moment: stored once, and both are told the same sequence.
  const twins = Array.from({ length: 40 }, () => one.add(tenantIds[0] ?? '', true));
  const again = twins.map((event) => ({ ...event }));
  const statuses = await Promise.all([
    ...twins.map((event) => send(first, one, [event])),
    ...again.map((event) => send(second, other, [event])),
  ]);
  expect(statuses.sort()).toEqual([...twins.map(() => 200), ...twins.map(() => 201)]);
  expect(again).toEqual(twins);

  // One of the two is told to stop while it is at it:
  // what it took it answers, the other one goes on.
  const last = new Load(first, one, tenantIds, 16);
  await expectProgress(one, 100);
  expect(await first.end('SIGTERM')).toBe(0);
  await last.stop();
  expect(first.log).not.toContain('unexpected error');
  await sendAgain(second, one);

  const owner = await ownerOf(postgres.ownerUrl);
  cleanup.push(() => owner.end());
  one.sent.push(...other.sent);
  expect(other.problems).toEqual([]);
  await expectNothingLost(owner, one);
}, 120_000);

test('when the commit is done but its answer is lost, the same id again gets 200 and the stored sequence', async () => {
  const { service, proxy, app, tenantId } = await serviceBehindProxy();
  for (const count of [1, 30]) {
    const ids = Array.from({ length: count }, () => idNow(service.clock.now));
    proxy.breakNextCommit('answer lost');
    expect((await post(app, tenantId, ids)).status).toBe(503);
    const stored = await sequencesOf(service.owner, tenantId, ids);
    expect(stored.length).toBe(count);
    const again = await post(app, tenantId, ids);
    expect(again).toMatchObject({ status: 200, sequences: stored });
  }
  expect(proxy.broken).toBe(2);
  await expectLogIntact(service, tenantId);
});

test('when the commit itself is lost, nothing is stored, and the same id again is recorded', async () => {
  const { service, proxy, app, tenantId } = await serviceBehindProxy();
  const ids = [idNow(service.clock.now)];
  proxy.breakNextCommit('commit lost');
  expect((await post(app, tenantId, ids)).status).toBe(503);
  expect(await sequencesOf(service.owner, tenantId, ids)).toEqual([]);
  expect((await post(app, tenantId, ids)).status).toBe(201);
  await expectLogIntact(service, tenantId);
});

test('a database that falls silent costs 503, not a hang, and is used again once it speaks', async () => {
  const { service, proxy, app, tenantId } = await serviceBehindProxy({ query_timeout: '500' });
  const ids = [idNow(service.clock.now)];
  proxy.breakNextCommit('silence');
  expect((await post(app, tenantId, ids)).status).toBe(503);
  const stored = await sequencesOf(service.owner, tenantId, ids);
  expect(await post(app, tenantId, ids)).toMatchObject({ status: 200, sequences: stored });
  await expectLogIntact(service, tenantId);
});

test('an event whose producer hung up before the answer is stored once, whatever it sends again', async () => {
  const { service, app, tenantId } = await serviceBehindProxy();
  const url = await app.http.listen({ host: '127.0.0.1', port: 0 });
  const ids = [idNow(service.clock.now)];
  await service.owner.query('BEGIN');
  await service.owner.query('SELECT FROM log_heads WHERE tenant_id = $1 FOR UPDATE', [tenantId]);
  const hangUp = new AbortController();
  const sent = fetch(`${url}/api/audit-logs`, {
    method: 'POST',
    headers: { authorization: `Bearer ${platformKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(eventOf({ tenantId, id: ids[0] })),
    signal: hangUp.signal,
  });
  await expect.poll(() => app.recorder.depth().events).toBe(1);
  hangUp.abort();
  await expect(sent).rejects.toThrow();
  await service.owner.query('COMMIT');
  await expect.poll(() => app.recorder.depth().events).toBe(0);
  const stored = await sequencesOf(service.owner, tenantId, ids);
  expect(await post(app, tenantId, ids)).toMatchObject({ status: 200, sequences: stored });
  await expectLogIntact(service, tenantId);
});
