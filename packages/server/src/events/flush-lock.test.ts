import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { expect, test } from 'vitest';
import type { App } from '../app.ts';
import { atEnd } from '../testing/at-end.ts';
import { expectLogIntact } from '../testing/intact.ts';
import { lockWaits } from '../testing/lock-waits.ts';
import { eventOf, post as postTo, serviceOn, testService } from '../testing/service.ts';

/* The processes of one `serve` flush one after the other. */

const service = await testService();

/** One of several processes, in effect. Its waits for another one's flush end after `waitMs`. */
async function sibling(waitMs = 60_000) {
  const changes = { flushAwaitedMs: waitMs };
  const more = { siblings: 'of this test' };
  const opened = await serviceOn(service.servingUrl, service.clock, {}, 6, changes, more);
  const { app, db } = opened;
  atEnd(opened.close);
  let transactions = 0;
  db.recording.on('acquire', () => transactions++);
  return { app, transactions: () => transactions };
}

interface Tenant {
  id: string;
  key: string;
}

/** The status of the answer. */
async function post(app: App, { key }: Tenant, name = 'Support'): Promise<number> {
  const event = eventOf({ resource: { type: 'queue', id: randomUUID(), name } });
  return (await postTo(app, key, event)).status;
}

/** Tenants whose keys these processes know, so that their events join the queue as they come. */
async function tenantsOf(count: number, ...processes: { app: App }[]): Promise<Tenant[]> {
  const tenants = await Promise.all(Array.from({ length: count }, () => service.tenant()));
  for (const { app } of processes) for (const tenant of tenants) await post(app, tenant);
  return tenants;
}

const waitingSessions = () => lockWaits(service.owner);
const month = () => new Date(service.clock.now).toISOString().slice(0, 7).replace('-', '');

async function transactionWith(sql: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: service.ownerUrl });
  client.on('error', () => {});
  await client.connect();
  atEnd(() => client.end());
  await client.query(`SET search_path = indelible; BEGIN; ${sql}`);
  return client;
}

const holdInserts = () => transactionWith('LOCK TABLE audit_events IN EXCLUSIVE MODE');

test('what comes while a process waits for the flush of another one is written in one flush', async () => {
  const [one, other] = [await sibling(), await sibling()];
  const tenants = await tenantsOf(20, one, other);
  const [first, ...others] = tenants as [Tenant, ...Tenant[]];
  const inserts = await holdInserts();
  const flushing = post(one.app, first);
  await expect.poll(waitingSessions).toBe(1);
  const before = other.transactions();
  const waiting = [post(other.app, first)];
  await expect.poll(waitingSessions).toBe(2);
  for (const tenant of others) waiting.push(post(other.app, tenant));
  await expect.poll(() => other.app.groupCommit.depth().events).toBe(20);
  await inserts.query('COMMIT');
  expect(await Promise.all([flushing, ...waiting])).toEqual([201, ...waiting.map(() => 201)]);
  expect(other.transactions() - before).toBe(1);
  for (const { id } of tenants) await expectLogIntact(service, id);
});

test('of such a flush an event that PostgreSQL refuses fails alone, and what comes meanwhile is recorded', async () => {
  const [one, other] = [await sibling(), await sibling()];
  const made = await tenantsOf(6, one, other);
  const tenants = made.sort((one, other) => (one.id < other.id ? -1 : 1));
  const [bad, slow, free, ...others] = tenants as [Tenant, Tenant, Tenant, ...Tenant[]];
  await service.owner.query(`
    CREATE FUNCTION public.accepts(name text) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN
      IF name = 'slow' THEN PERFORM pg_advisory_xact_lock_shared(7); END IF;
      RETURN name IS DISTINCT FROM 'bad';
    END $$;
    ALTER TABLE audit_events_2_${month()} ADD CONSTRAINT fit CHECK (public.accepts(resource_name));
    SELECT pg_advisory_lock(7)`);
  const inserts = await holdInserts();
  const flushing = post(one.app, slow);
  await expect.poll(waitingSessions).toBe(1);
  const refused = post(other.app, bad, 'bad');
  await expect.poll(waitingSessions).toBe(2);
  const waiting = [slow, ...others].map((tenant) => post(other.app, tenant, 'slow'));
  await expect.poll(() => other.app.groupCommit.depth().events).toBe(5);
  await inserts.query('COMMIT');
  expect([await flushing, await refused]).toEqual([201, 422]);
  await expect.poll(waitingSessions).toBe(1);
  waiting.push(post(other.app, free));
  await expect.poll(() => other.app.groupCommit.depth().events).toBe(5);
  await service.owner.query('SELECT pg_advisory_unlock(7)');
  expect(await Promise.all(waiting)).toEqual(waiting.map(() => 201));
  for (const tenant of tenants) expect(await post(other.app, tenant)).toBe(201);
  await service.owner.query(`ALTER TABLE audit_events_2_${month()} DROP CONSTRAINT fit`);
  for (const { id } of tenants) await expectLogIntact(service, id);
});

test('a flush that PostgreSQL holds up delays the other processes for a moment only', async () => {
  const [one, other] = [await sibling(), await sibling(100)];
  const [held] = (await tenantsOf(1, one, other)) as [Tenant];
  const free = await service.tenant('Starter');
  for (const { app } of [one, other]) await post(app, free);
  const partition = await transactionWith(`LOCK TABLE audit_events_2_${month()} IN EXCLUSIVE MODE`);
  const blocked = post(one.app, held);
  await expect.poll(waitingSessions).toBe(1);
  for (let n = 0; n < 3; n++) expect(await post(other.app, free)).toBe(201);
  expect(await waitingSessions()).toBe(1);
  await partition.query('COMMIT');
  expect(await blocked).toBe(201);
  for (const { id } of [held, free]) await expectLogIntact(service, id);
});

test('a full flush does not wait for the flush of another process', async () => {
  const [one, other] = [await sibling(), await sibling()];
  const [held] = (await tenantsOf(1, one, other)) as [Tenant];
  const free = await service.tenant('Starter');
  const partition = await transactionWith(`LOCK TABLE audit_events_2_${month()} IN EXCLUSIVE MODE`);
  const flushing = post(one.app, held);
  await expect.poll(waitingSessions).toBe(1);
  const events = Array.from({ length: 500 }, () => eventOf());
  const headers = { authorization: `Bearer ${free.key}` };
  const url = '/api/audit-logs/batch';
  const batch = { method: 'POST', url, headers, payload: { events } } as const;
  expect((await other.app.http.inject(batch)).statusCode).toBe(200);
  await partition.query('COMMIT');
  expect(await flushing).toBe(201);
  for (const { id } of [held, free]) await expectLogIntact(service, id);
});

test('a process that ends while it has the lock leaves it to the others', async () => {
  const other = await sibling();
  const [tenant] = (await tenantsOf(1, other)) as [Tenant];
  const holder = await transactionWith("SELECT take_flush_lock('of this test', 0)");
  const waiting = post(other.app, tenant);
  await expect.poll(waitingSessions).toBe(1);
  holder.connection.stream.destroy();
  expect(await waiting).toBe(201);
  await expectLogIntact(service, tenant.id);
});
