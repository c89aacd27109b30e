import { randomUUID } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { endServer, serverPid } from '@indelible/testing/embedded-postgres-service';
import { makeDataDir, newFolder } from '@indelible/testing/folders';
import { expectNothingLost, Ledger, Load, send, sendAgain } from '@indelible/testing/load';
import { RunningService } from '@indelible/testing/running-service';
import { platformKey } from '@indelible/testing/service';
import pg from 'pg';
import { afterAll, expect, test } from 'vitest';
import { logins } from './embedded/cluster.ts';
import { connectionUrl } from './embedded/postmaster.ts';
import { startEmbeddedPostgres } from './embedded-postgres.ts';

/*
 * Real processes on a PostgreSQL of their own with
 * fsync on: the run's shared one must not be killed.
 */

const scratch = newFolder();
const dataDir = join(scratch, 'embedded');
await makeDataDir(dataDir);
const cleanup: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const undo of cleanup.reverse()) await undo();
  await endServer(dataDir, 'SIGQUIT');
  rmSync(scratch, { recursive: true, maxRetries: 10 });
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
  return ownerOf(connectionUrl(socket, logins.owner.name, password, 'indelible'));
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
    .poll(() => ledger.acknowledged.length - before, { interval: 20 })
    .toBeGreaterThan(count);
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
});

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
  const statuses = await sendAgain(service, ledger);
  expect(statuses.filter((status) => status !== 200 && status !== 201)).toEqual([]);
  const owner = await embeddedOwner();
  await expectNothingLost(owner, ledger);
  await owner.end();
  expect(await service.end('SIGTERM')).toBe(0);
  expect(service.log).not.toContain('unexpected error');
});

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
});
