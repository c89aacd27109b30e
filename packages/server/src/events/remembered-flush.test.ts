import { hash, randomBytes, randomUUID } from 'node:crypto';
import { eventIdFromUuid, eventUuid, lateClass } from '@indelible/protocol';
import pg from 'pg';
import { beforeEach, expect, test } from 'vitest';
import type { App } from '../app.ts';
import { atEnd } from '../testing/at-end.ts';
import { expectLogIntact } from '../testing/intact.ts';
import { anotherProcess, eventOf, post as postTo, testService } from '../testing/service.ts';
import { prepare } from './prepared-event.ts';

/* A flush for heads as the last flush of this process left them is one round trip. */

const service = await testService();

/** A process in effect, which remembers nothing yet. */
const openProcess = async (): Promise<App> => (await anotherProcess(service, {})).app;

/** Of the test that runs. */
let here: App;
beforeEach(async () => {
  here = await openProcess();
});

interface Tenant {
  id: string;
  key: string;
}

const post = ({ key }: Tenant, more: Record<string, unknown> = {}, app = here) =>
  postTo(app, key, eventOf(more));

/** Tenants whose heads this process remembers. */
async function rememberedTenants(count: number): Promise<Tenant[]> {
  const tenants = await Promise.all(Array.from({ length: count }, () => service.tenant()));
  for (const tenant of tenants) await post(tenant);
  return tenants;
}

const owned = (sql: string, ...values: unknown[]) => service.owner.query(sql, values);

/** Meanwhile no flush can lock heads before it records. */
async function withoutLocking<T>(work: () => Promise<T>): Promise<T> {
  await owned('REVOKE EXECUTE ON FUNCTION lock_heads FROM indelible_writer');
  const result = await work();
  await owned('GRANT EXECUTE ON FUNCTION lock_heads TO indelible_writer');
  return result;
}

const statuses = (answers: { status: number }[]) => new Set(answers.map(({ status }) => status));

async function expectIntact(tenants: Tenant[]): Promise<void> {
  for (const { id } of tenants) await expectLogIntact(service, id);
}

/** The stored head, size as a number. */
async function headOf({ id }: Tenant) {
  const { rows } = await owned(
    'SELECT size::int, frontier, last_received_us AS "receivedUs" FROM log_heads WHERE tenant_id = $1',
    id,
  );
  return rows[0];
}

test('a flush asks for no head that the last one of this process left, nor for its keys', async () => {
  const tenants = await rememberedTenants(20);
  await withoutLocking(async () => {
    for (let round = 0; round < 30; round++) {
      const answers = await Promise.all(tenants.map((tenant) => post(tenant)));
      expect(statuses(answers)).toEqual(new Set([201]));
    }
  });
  await expectIntact(tenants);
});

test('heads that another process moves between are read again, and all sequences follow each other', async () => {
  const tenants = await rememberedTenants(5);
  const other = await openProcess();
  const sequences = new Map(tenants.map(({ id }) => [id, [] as number[]]));
  for (let round = 0; round < 20; round++) {
    for (const app of [other, here]) {
      const posted = tenants.map(async (tenant) => {
        const { status, body } = await post(tenant, {}, app);
        expect(status).toBe(201);
        sequences.get(tenant.id)?.push(body.sequence);
      });
      await Promise.all(posted);
    }
  }
  for (const own of sequences.values()) expect(own).toEqual(own.map((_, n) => (own[0] ?? 0) + n));
  await expectIntact(tenants);
});

test('two processes that record for the same tenants at once fork no log', async () => {
  const tenants = await rememberedTenants(8);
  const other = await openProcess();
  const posted = Array.from({ length: 400 }, (_, n) =>
    post(tenants[n % 8] as Tenant, {}, n % 3 === 0 ? other : here),
  );
  expect(statuses(await Promise.all(posted))).toEqual(new Set([201]));
  await expectIntact(tenants);
});

test('a head that another one has locked delays its own events only', async () => {
  const [held, free] = (await rememberedTenants(2)) as [Tenant, Tenant];
  const client = new pg.Client({ connectionString: service.ownerUrl });
  await client.connect();
  atEnd(() => client.end());
  const lock = 'SELECT 1 FROM indelible.log_heads WHERE tenant_id = $1 FOR UPDATE';
  await client.query('BEGIN');
  await client.query(lock, [held.id]);
  const waiting = post(held);
  expect(await Promise.all([post(free), post(free)])).toMatchObject([
    { status: 201 },
    { status: 201 },
  ]);
  await client.query('COMMIT');
  expect((await waiting).status).toBe(201);
  await expectIntact([held, free]);
});

test('a log that was set back and has grown to the same size again is not continued from its other end', async () => {
  const [tenant] = (await rememberedTenants(1)) as [Tenant];
  const before = await headOf(tenant);
  expect((await post(tenant)).status).toBe(201);
  const remembered = await headOf(tenant);
  await owned(
    'DELETE FROM audit_events WHERE tenant_id = $1 AND sequence = $2',
    tenant.id,
    before.size,
  );
  await owned(
    'DELETE FROM log_tail WHERE tenant_id = $1 AND sequence = $2',
    tenant.id,
    before.size,
  );
  await owned(
    'UPDATE log_heads SET size = $2, frontier = $3 WHERE tenant_id = $1',
    ...[tenant.id, before.size, before.frontier],
  );
  expect((await post(tenant, {}, await openProcess())).status).toBe(201);
  const grown = await headOf(tenant);
  expect([grown.size, grown.receivedUs]).toEqual([remembered.size, remembered.receivedUs]);
  expect(grown.frontier).not.toEqual(remembered.frontier);
  expect((await post(tenant)).status).toBe(201);
  await expectIntact([tenant]);
});

test('receipt times that another clock has moved on never go back', async () => {
  const [tenant] = (await rememberedTenants(1)) as [Tenant];
  const later = service.clock.now + 60_000;
  await owned(
    'UPDATE log_heads SET last_received_us = $2 WHERE tenant_id = $1',
    tenant.id,
    later * 1_000,
  );
  const { body } = await post(tenant);
  expect(body.receivedAt).toBe(new Date(later).toISOString());
});

test('an event goes to the class that its tenant has now, and an id is looked for in those it had', async () => {
  const [tenant] = (await rememberedTenants(1)) as [Tenant];
  const id = eventIdFromUuid(eventUuid(service.clock.now, randomBytes(10)));
  expect((await post(tenant, { id })).status).toBe(201);
  await owned('UPDATE log_heads SET retention_class = 1 WHERE tenant_id = $1', tenant.id);
  const { status, body } = await post(tenant);
  expect(status).toBe(201);
  const stored =
    'SELECT retention_class AS class FROM audit_events WHERE tenant_id = $1 AND sequence = $2';
  expect((await owned(stored, tenant.id, body.sequence)).rows).toEqual([{ class: 1 }]);
  await owned("UPDATE log_heads SET other_classes = '{2}' WHERE tenant_id = $1", tenant.id);
  expect((await post(tenant, { id })).status).toBe(200);
});

test('a tenant that is closed records nothing more', async () => {
  const [closed, free] = (await rememberedTenants(2)) as [Tenant, Tenant];
  await owned('UPDATE log_heads SET closed_at = now() WHERE tenant_id = $1', closed.id);
  expect(await Promise.all([post(closed), post(free)])).toMatchObject([
    { status: 422 },
    { status: 201 },
  ]);
  await expectIntact([closed, free]);
});

test('a log that is damaged, or has lost its head, records nothing more', async () => {
  const [beheaded, damaged, free] = (await rememberedTenants(3)) as [Tenant, Tenant, Tenant];
  await owned('DELETE FROM log_heads WHERE tenant_id = $1', beheaded.id);
  await owned(
    "INSERT INTO log_tail SELECT tenant_id, size, repeat('x', 60)::bytea FROM log_heads WHERE tenant_id = $1",
    damaged.id,
  );
  const answers = await Promise.all([beheaded, damaged, free].map((tenant) => post(tenant)));
  expect(answers.map(({ status }) => status)).toEqual([503, 503, 201]);
  await expectIntact([free]);
});

test('while recording is stopped nothing is recorded', async () => {
  const [tenant] = (await rememberedTenants(1)) as [Tenant];
  await owned("UPDATE log_rounds SET halted = 'for a test'");
  expect((await post(tenant)).status).toBe(503);
  await owned('UPDATE log_rounds SET halted = NULL');
  expect((await post(tenant)).status).toBe(201);
  await expectIntact([tenant]);
});

/** An event as it joins the queue, now. */
function prepared(tenantId: string) {
  const id = randomUUID();
  const event = {
    ...{ tenantId, uuid: eventUuid(service.clock.now, randomBytes(10)) },
    ...{ actorId: id, actorEmail: null, actorRole: 'admin', actorIp: null, actorUserAgent: null },
    ...{ resourceType: 'queue', resourceId: id, resourceName: null, reason: null },
    ...{ action: 'update', category: 'configuration', diff: '{}', before: null, after: null },
    ...{ crossTenant: false, context: null, contextIdentity: null },
    ...({ recordedByKind: 'api_key', recordedById: id } as const),
  };
  return prepare(event, (data) => hash('sha256', data, 'buffer'), randomBytes);
}

test('a key that is revoked, expired or unknown records nothing, though no log has grown', async () => {
  const tenants = await rememberedTenants(2);
  const [tenant, neighbour] = tenants as [Tenant, Tenant];
  const { groupCommit } = here;
  const { rows } = await owned('SELECT id FROM api_keys WHERE tenant_id = $1', tenant.id);
  const [{ id: keyId }] = rows;
  const recordBoth = async (keyOfOne: string) => {
    const both = [
      groupCommit.record([prepared(tenant.id)], keyOfOne),
      groupCommit.record([prepared(neighbour.id)], null),
    ];
    return (await Promise.all(both)).flat().map(({ status }) => status);
  };
  expect(await withoutLocking(() => recordBoth(keyId))).toEqual(['created', 'created']);
  expect(await recordBoth(randomUUID())).toEqual(['rejected', 'created']);
  for (const change of ['expires_at = $2', 'expires_at = NULL, revoked_at = $2']) {
    await owned(`UPDATE api_keys SET ${change} WHERE id = $1`, keyId, new Date(service.clock.now));
    expect(await recordBoth(keyId)).toEqual(['rejected', 'created']);
  }
  await expectIntact(tenants);
});

test('an id that is stored is answered as such, and the events beside it are recorded', async () => {
  const tenants = await rememberedTenants(2);
  const [tenant, neighbour] = tenants as [Tenant, Tenant];
  const id = eventIdFromUuid(eventUuid(service.clock.now, randomBytes(10)));
  const first = await post(tenant, { id });
  const both = await Promise.all([post(tenant, { id }), post(tenant, { id, reason: 'another' })]);
  expect(both.map(({ status }) => status)).toEqual([200, 409]);
  const again = await Promise.all([post(tenant, { id }), post(tenant), post(neighbour)]);
  expect(again.map(({ status }) => status)).toEqual([200, 201, 201]);
  expect(again[0]?.body.sequence).toBe(first.body.sequence);
  await expectIntact(tenants);
});

test('a late repeat is answered by the head of the moment, also beside events of others', async () => {
  const [tenant, neighbour] = (await rememberedTenants(2)) as [Tenant, Tenant];
  const { groupCommit } = here;
  const event = prepared(tenant.id);
  await groupCommit.record([event], null);
  service.clock.now += 25 * 3_600_000;
  const repeat = async () => {
    const outcomes = await groupCommit.record([event, prepared(neighbour.id)], null);
    return outcomes.map(({ status }) => status);
  };
  expect(await repeat()).toEqual(['duplicate', 'created']);
  await post(tenant);
  await owned('UPDATE log_heads SET closed_at = now() WHERE tenant_id = $1', tenant.id);
  expect(await repeat()).toEqual(['rejected', 'created']);
  await expectIntact([tenant, neighbour]);
});

test('of remembered tenants an event that PostgreSQL refuses fails alone', async () => {
  const tenants = await rememberedTenants(3);
  const month = new Date(service.clock.now).toISOString().slice(0, 7).replace('-', '');
  await owned(`ALTER TABLE audit_events_2_${month}
    ADD CONSTRAINT no_poison CHECK (reason IS DISTINCT FROM 'poison')`);
  const reasons = ['fine', 'poison', 'fine'];
  const posted = reasons.map((reason, n) => post(tenants[n] as Tenant, { reason }));
  expect((await Promise.all(posted)).map(({ status }) => status)).toEqual([201, 422, 201]);
  await owned(`ALTER TABLE audit_events_2_${month} DROP CONSTRAINT no_poison`);
  expect(statuses(await Promise.all(tenants.map((tenant) => post(tenant))))).toEqual(
    new Set([201]),
  );
  await expectIntact(tenants);
});

test('what is older than the retention is refused by the plan of the moment, late events are recorded', async () => {
  const tenants = await rememberedTenants(2);
  const [tenant, neighbour] = tenants as [Tenant, Tenant];
  const before = (days: number) => ({
    timestamp: new Date(service.clock.now - days * 86_400_000).toISOString(),
  });
  const posted = [post(tenant, before(9 * 366)), post(tenant), post(neighbour)];
  expect((await Promise.all(posted)).map(({ status }) => status)).toEqual([422, 201, 201]);
  expect((await post(tenant, before(40))).status).toBe(201);
  const classes = 'SELECT other_classes AS others FROM log_heads WHERE tenant_id = $1';
  expect((await owned(classes, tenant.id)).rows).toEqual([{ others: [lateClass] }]);
  expect(await withoutLocking(() => Promise.all([post(tenant), post(neighbour)]))).toMatchObject([
    { status: 201 },
    { status: 201 },
  ]);
  await expectIntact(tenants);
});

test('a partition that is dropped is made again', async () => {
  const timestamp = new Date(Date.UTC(2021, 1, 3)).toISOString();
  const tenants = await rememberedTenants(2);
  const [tenant, neighbour] = tenants as [Tenant, Tenant];
  expect((await post(tenant, { timestamp })).status).toBe(201);
  await owned('DROP TABLE audit_events_1000_2021');
  expect((await post(neighbour, { timestamp })).status).toBe(201);
  await expectIntact([neighbour]);
});

test('after lost connections heads are read again, and no sequence is used twice', {
  tags: 'plain',
}, async () => {
  const tenants = await rememberedTenants(3);
  const posts = () => Promise.all(tenants.map((tenant) => post(tenant)));
  await service.owner.query('BEGIN; LOCK TABLE audit_events IN EXCLUSIVE MODE');
  const broken = posts();
  const kill = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND usename <> current_user AND wait_event_type = 'Lock'`;
  await expect.poll(async () => (await owned(kill)).rowCount).toBe(1);
  await service.owner.query('COMMIT');
  expect(statuses(await broken)).toEqual(new Set([503]));
  expect(statuses(await posts())).toEqual(new Set([201]));
  await expectIntact(tenants);
});
