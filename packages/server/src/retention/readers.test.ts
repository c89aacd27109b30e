import { lateClass, parseListQuery } from '@indelible/protocol';
import { expectRetainedIntact } from '@indelible/testing/intact';
import { lockWaits } from '@indelible/testing/lock-waits';
import {
  change,
  day,
  eventAt,
  listed,
  partitionFor,
  partitionName,
  partitions,
  recordAt,
  recordLate,
  run,
  runOn,
  tenantOf,
  watched,
} from '@indelible/testing/retention-setup';
import { testService } from '@indelible/testing/service';
import { beforeEach, expect, test } from 'vitest';
import { readShown } from '../events/store.ts';
import { accepted } from '../http/query.ts';
import { listEvents } from '../list/list.store.ts';
import { type OwnerSession, withOwnerSession } from '../postgres/db.ts';

// With one connection for reads, each list of a test uses what the list before it has kept.
const service = await testService({}, 1);
beforeEach(async () => {
  service.clock.now += day;
  await run(service);
});

test('an answer that has begun before events move keeps them, although their partition expires', async () => {
  const tenant = await tenantOf(service, 'Starter', 41);
  const { now } = service.clock;
  const old = now - 35 * day;
  const id = await recordAt(service, tenant, old);
  await change(service, tenant, { plan: 'Pro' });
  service.clock.now += day;
  const query = accepted(parseListQuery(new URLSearchParams('action=publish')));
  await readShown(service.db, tenant.id, now, async (visible) => {
    const ran = await run(service, { retryMs: [], readersMs: 100 });
    expect(ran?.moved).toBeGreaterThan(0);
    expect((await listEvents(query, visible, null)).rows).toHaveLength(1);
    expect(ran?.waiting).toContain(partitionName(0, old));
  });
  await run(service);
  expect(await partitions(service)).not.toContain(partitionName(0, old));
  expect(await listed(service, tenant)).toEqual([id]);
  await expectRetainedIntact(service, tenant.id);
});

test('no event moves while a statement may go on that was planned without its new partition', async () => {
  const tenant = await tenantOf(service, 'Enterprise', 131);
  const { now } = service.clock;
  const id = await recordAt(service, tenant, now - 130 * day);
  await change(service, tenant, { legalHold: true });
  const reader = await service.db.background.connect();
  // Each of its statements has a snapshot of its own, taken after the statement is planned.
  await reader.query('BEGIN; SELECT FROM audit_events WHERE retention_class = 3');
  expect(await run(service, { retryMs: [], readersMs: 100 })).toMatchObject({ moved: 0 });
  expect(await partitions(service)).toContain(partitionName(3, now - 130 * day, 6));
  await reader.query('COMMIT');
  reader.release();
  expect((await run(service))?.moved).toBeGreaterThan(0);
  expect(await listed(service, tenant)).toEqual([id]);
  await expectRetainedIntact(service, tenant.id);
});

test('a run waits once for those who read the events, for all moves, and tries again later', async () => {
  const tenants = [];
  for (const _ of [1, 2, 3]) tenants.push(await tenantOf(service, 'Starter', 21));
  for (const tenant of tenants) {
    await recordAt(service, tenant, service.clock.now - 20 * day);
    await change(service, tenant, { plan: 'Pro' });
  }
  const reader = await service.db.background.connect();
  await reader.query('BEGIN; SELECT FROM audit_events WHERE retention_class = 3');
  let looks = 0;
  const counted = (owner: OwnerSession) =>
    watched(owner, async (statement) => {
      if (statement.includes('open_events')) looks += 1;
    });
  const first = await runOn(service, counted, { retryMs: [], readersMs: -1 });
  expect([first?.moved, first?.waiting, looks]).toEqual([0, [], 1]);
  let runs = 0;
  const again = (owner: OwnerSession) =>
    watched(owner, async (statement) => {
      if (statement.includes('make_partitions_ahead') && ++runs === 2) await reader.query('COMMIT');
    });
  const ran = await runOn(service, again, { retryMs: [0], readersMs: 100 });
  reader.release(true);
  expect(ran?.moved).toBeGreaterThanOrEqual(tenants.length);
  for (const { id } of tenants) await expectRetainedIntact(service, id);
});

test('recording in new partitions waits once, by the clock, for a transaction with many locks', {
  tags: 'plain',
}, async () => {
  const tenant = await tenantOf(service, 'Enterprise', 1);
  const { now } = service.clock;
  const reader = await service.db.background.connect();
  await reader.query(`BEGIN; SELECT FROM audit_events;
    SELECT pg_advisory_xact_lock_shared(n) FROM generate_series(1, 5000) n`);
  // Late events lie in one partition for each year.
  const events = [3, 4, 5, 6].map((years) => eventAt(now - years * 365 * day));
  const url = '/api/audit-logs/batch';
  const beganMs = performance.now();
  const { body } = await service.call({ method: 'POST', url, key: tenant.key, body: { events } });
  const tookMs = performance.now() - beganMs;
  await reader.query('COMMIT');
  reader.release();
  expect(body.results.map(({ status }: { status: string }) => status)).toEqual(
    events.map(() => 'created'),
  );
  expect(tookMs).toBeLessThan(2_000);
});

test('a partition that a change of plan attaches again is told after it, whatever was told meanwhile', {
  tags: 'plain',
}, async () => {
  const { owner } = service;
  const tenant = await tenantOf(service, 'Starter', 1);
  const past = service.clock.now - 300 * day;
  await owner.query('SET ROLE indelible_owner');
  await owner.query('SELECT place_partition(0::smallint, $1)', [new Date(past)]);
  await owner.query('RESET ROLE');
  await owner.query(`ALTER TABLE audit_events DETACH PARTITION ${partitionName(0, past)}`);
  await owner.query(`BEGIN; SELECT pg_advisory_xact_lock(hashtext('indelible.plans'))`);
  const changed = change(service, tenant, { plan: 'Pro' });
  await expect.poll(() => lockWaits(owner)).toBe(1);
  await owner.query('GRANT SELECT ON audit_events TO indelible_reader');
  await owner.query('COMMIT');
  const before = await lastTold();
  await changed;
  expect(await lastTold()).not.toEqual(before);
});

test('a partition is told of, whatever its transaction had written before others told of theirs', {
  tags: 'plain',
}, async () => {
  const { owner } = service;
  await owner.query('BEGIN; SET LOCAL ROLE indelible_owner; SELECT pg_current_xact_id()');
  await withOwnerSession(service.ownerUrl, (other) =>
    other.query('GRANT SELECT ON audit_events TO indelible_reader'),
  );
  const past = new Date(service.clock.now - 400 * day);
  await owner.query('SELECT place_partition(0::smallint, $1)', [past]);
  await owner.query('COMMIT');
  const before = await lastTold();
  await owner.query('SELECT announce_partitions()');
  expect(await lastTold()).not.toEqual(before);
});

/** The transaction that told of partitions last. */
async function lastTold() {
  const ofTable = "SELECT xmin FROM pg_class WHERE oid = 'audit_events'::regclass";
  return (await service.owner.query(ofTable)).rows;
}

/**
 * Attaches the partition while the connection for reads is collecting the partitions for its plan:
 * that has the others only, and PostgreSQL has told the connection of the new one in vain.
 */
async function attachWhilePlanned(key: string, retentionClass: number, timeMs: number) {
  const { owner } = service;
  // Of all that the connection keeps it lacks the list of partitions, and one partition's bounds.
  await owner.query('GRANT SELECT ON audit_events TO indelible_reader');
  await service.db.reader.query('SELECT FROM ONLY audit_events');
  await owner.query(`ANALYZE ${partitionName(2, service.clock.now, 6)}`);
  await owner.query('BEGIN; LOCK TABLE pg_class IN ACCESS EXCLUSIVE MODE');
  const planned = listed(service, { id: '', key });
  await expect.poll(() => lockWaits(owner)).toBe(1);
  await owner.query('SET LOCAL ROLE indelible_owner');
  await owner.query('SELECT place_partition($1, $2)', [retentionClass, new Date(timeMs)]);
  await owner.query('COMMIT');
  return planned;
}

test('a connection that misses the news of a partition lists what moves into it', {
  tags: 'plain',
}, async () => {
  const tenant = await tenantOf(service, 'Enterprise', 101);
  const { now } = service.clock;
  const ids: string[] = [];
  for (const n of [100, 60, 10]) ids.push(await recordAt(service, tenant, now - n * day));
  await change(service, tenant, { legalHold: true });
  for (const n of [60, 10]) await partitionFor(service, tenant, now - n * day);
  expect(await attachWhilePlanned(tenant.key, 3, now - 100 * day)).toEqual(ids);
  expect((await run(service))?.moved).toBeGreaterThan(0);
  expect(await listed(service, tenant)).toEqual(ids);
  await expectRetainedIntact(service, tenant.id);
});

test('a connection that misses the news of a partition lists what is recorded in it', {
  tags: 'plain',
}, async () => {
  const tenant = await tenantOf(service, 'Enterprise', 1);
  const { now } = service.clock;
  const late = await recordLate(service, tenant, now - 3 * day);
  expect(await attachWhilePlanned(tenant.key, lateClass, now - 2_200 * day)).toEqual([late]);
  const older = await recordLate(service, tenant, now - 2_200 * day);
  expect(await listed(service, tenant)).toEqual([older, late]);
  await expectRetainedIntact(service, tenant.id);
});
