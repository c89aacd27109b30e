import { firstUuidAt, uuidFromEventId } from '@indelible/protocol';
import { expectRetainedIntact } from '@indelible/testing/intact';
import {
  change,
  classesOf,
  day,
  detachedPartitions,
  listed,
  longReader,
  partitionName,
  recordAt,
  run,
  runTwice,
  stored,
  type Tenant,
  tenantOf,
} from '@indelible/testing/retention-setup';
import { anotherProcess, callOn, eventOf, testService } from '@indelible/testing/service';
import pg from 'pg';
import { beforeEach, expect, test } from 'vitest';

const service = await testService();
beforeEach(() => {
  service.clock.now += day;
});

test.each([
  ['a hold that is placed', { legalHold: true }],
  ['a greater plan', { plan: 'Pro' }],
])(
  '%s while a partition is on its way out brings back what was in it',
  { tags: 'plain' },
  async (_, owing) => {
    const tenant = await tenantOf(service, 'Starter', 11);
    const other = await tenantOf(service, 'Starter', 11);
    const { now } = service.clock;
    const ids = [
      await recordAt(service, tenant, now - 10 * day),
      await recordAt(service, other, now - 10 * day),
    ];
    service.clock.now = now + 40 * day;
    await run(service);
    service.clock.now += day;
    const name = partitionName(0, now - 10 * day);
    // Where a run would stand that was cut off between detachment and record.
    await service.owner.query(`ALTER TABLE audit_events DETACH PARTITION ${name} CONCURRENTLY`);
    await change(service, tenant, owing);
    expect(await listed(service, tenant), 'at once').toEqual([ids[0]]);
    // What was the other's in it goes, row by row or with the partition.
    await run(service);
    expect(await stored(service, ids)).toEqual([ids[0]]);
    expect(await listed(service, tenant)).toEqual([ids[0]]);
    for (const { id } of [tenant, other]) await expectRetainedIntact(service, id);
  },
);

test('a reader of a partition keeps it, delays no other, and the next run goes on', async () => {
  const tenant = await tenantOf(service, 'Starter', 21);
  const { now } = service.clock;
  const old = await recordAt(service, tenant, now - 20 * day);
  service.clock.now = now + 40 * day;
  await run(service);
  service.clock.now += day;
  const { seen, end } = await longReader(service);
  const before = await seen();
  try {
    const running = run(service, { retryMs: [], readersMs: 500 });
    let delayed = 0;
    let ended = false;
    void running.finally(() => {
      ended = true;
    });
    const recent: string[] = [];
    while (!ended) {
      let isRecorded = false;
      const recording = recordAt(service, tenant, service.clock.now).finally(() => {
        isRecorded = true;
      });
      while (!isRecorded) delayed += await waitingForTables();
      recent.push(await recording);
    }
    const waited = await running;
    expect(waited?.waiting.length).toBeGreaterThan(0);
    expect(recent.length).toBeGreaterThan(2);
    expect(delayed).toBe(0);
    expect(await seen()).toBe(before);
    expect(await stored(service, recent)).toEqual(recent);
  } finally {
    await end();
  }
  const done = await run(service);
  expect(done?.waiting).toEqual([]);
  expect(await stored(service, [old])).toEqual([]);
  expect(await detachedPartitions(service)).toEqual([]);
  await expectRetainedIntact(service, tenant.id);
});

/** Statements of the service that wait for a table, as all do behind a lock that waits itself. */
async function waitingForTables(): Promise<number> {
  const { rows } = await service.owner.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM pg_locks
      WHERE NOT granted AND locktype = 'relation' AND mode IN ('AccessShareLock', 'RowExclusiveLock')
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
  );
  return rows[0]?.count ?? 0;
}

test('while events move to another class, lists show each once, and sending one again finds it', async () => {
  const tenant = await tenantOf(service, 'Enterprise', 401);
  const { now } = service.clock;
  const ids: string[] = [];
  for (let n = 400; n >= 0; n -= 8) ids.push(await recordAt(service, tenant, now - n * day));
  await change(service, tenant, { legalHold: true });
  let ended = false;
  const running = run(service).finally(() => {
    ended = true;
  });
  let looks = 0;
  while (!ended) {
    expect(await listed(service, tenant)).toEqual(ids);
    const [id] = ids.slice(looks % ids.length);
    const again = await service.call({ url: `/api/audit-logs/${id}`, key: tenant.key });
    expect(again.status).toBe(200);
    const { category, hasState, sequence, receivedAt, recordedBy, crossTenant, ...event } =
      again.body;
    const url = '/api/audit-logs';
    const sent = await service.call({ method: 'POST', url, key: tenant.key, body: event });
    expect([sent.status, sent.body.sequence]).toEqual([200, sequence]);
    looks += 1;
  }
  expect(looks).toBeGreaterThan(1);
  expect((await running)?.moved).toBeGreaterThanOrEqual(ids.length);
  expect(await classesOf(service, tenant)).toEqual({ current: 3, others: [], lying: [3] });
  await expectRetainedIntact(service, tenant.id);
});

test('events of a log that lost its head stay: nothing could record their removal', async () => {
  const tenant = await tenantOf(service, 'Starter', 11);
  const { now } = service.clock;
  const id = await recordAt(service, tenant, now - 10 * day);
  const lost = 'CREATE TEMP TABLE lost AS SELECT * FROM log_heads WHERE tenant_id = ';
  await service.owner.query(lost + service.owner.escapeLiteral(tenant.id));
  await service.owner.query('DELETE FROM log_heads WHERE tenant_id = $1', [tenant.id]);
  service.clock.now = now + 40 * day;
  await runTwice(service);
  expect(await stored(service, [id])).toEqual([id]);
  await service.owner.query('INSERT INTO log_heads SELECT * FROM lost');
  await runTwice(service);
  expect(await stored(service, [id])).toEqual([]);
  await expectRetainedIntact(service, tenant.id);
});

test('an event sent again late is found while it moves into a partition that is just made', {
  tags: 'plain',
}, async () => {
  // No earlier test has made the partition.
  service.clock.now += 120 * day;
  const { now } = service.clock;
  const tenant = await tenantOf(service, 'Enterprise', 61);
  const id = await recordAt(service, tenant, now - 60 * day);
  await recordAt(service, tenant, now - 20 * day);
  await change(service, tenant, { legalHold: true });
  const sent = { ...eventOf({ id, action: 'publish' }), id };
  // A statement that is planned waits for this partition, and knows the partitions of before.
  const locker = new pg.Client({ connectionString: service.ownerUrl });
  await locker.connect();
  await locker.query('BEGIN');
  await locker.query(
    `LOCK TABLE indelible.${await partitionOf(tenant, now - 20 * day)} IN ACCESS EXCLUSIVE MODE`,
  );
  // Another process remembers no head and has planned nothing: its first look is what waits.
  const { app } = await anotherProcess(service, {});
  const call = { method: 'POST', url: '/api/audit-logs', key: tenant.key, body: sent } as const;
  const answer = callOn(app, call);
  await expect.poll(waitingForTables).toBeGreaterThan(0);
  await service.owner.query('SELECT place_partition(3::smallint, $1)', [new Date(now - 60 * day)]);
  await service.owner.query(
    'UPDATE audit_events SET retention_class = 3 WHERE tenant_id = $1 AND retention_class = 2 AND id = $2',
    [tenant.id, uuidFromEventId(id)],
  );
  await locker.query('COMMIT');
  await locker.end();
  expect([(await answer).status, await stored(service, [id])]).toEqual([200, [id]]);
  await expectRetainedIntact(service, tenant.id);
});

async function partitionOf({ id }: Tenant, timeMs: number): Promise<string> {
  const { rows } = await service.owner.query<{ name: string }>(
    'SELECT tableoid::regclass::text AS name FROM audit_events WHERE tenant_id = $1 AND id >= $2 AND id < $3',
    [id, firstUuidAt(timeMs), firstUuidAt(timeMs + 1)],
  );
  return rows[0]?.name ?? '';
}
