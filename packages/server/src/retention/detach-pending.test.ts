import { setTimeout as nextTurn } from 'node:timers/promises';
import { lateClass } from '@indelible/protocol';
import { expectRetainedIntact } from '@indelible/testing/intact';
import {
  beginDetaching,
  change,
  classesOf,
  day,
  eventAt,
  listed,
  longReader,
  partitionName,
  partitions,
  recordAt,
  recordLate,
  records,
  run,
  runOn,
  stored,
  type Tenant,
  tenantOf,
  watched,
} from '@indelible/testing/retention-setup';
import { testService } from '@indelible/testing/service';
import { expect, test } from 'vitest';
import { type OwnerSession, withOwnerSession } from '../postgres/db.ts';
import type { RetentionDeps, RetentionRun } from './retention.job.ts';
import { takeRetentionLock } from './terms.store.ts';

/* Partitions that are detached while a backup or a long report still reads them. */

const service = await testService();

/**
 * A run whose session waits a moment for locks, not seconds; `before` sees each of its statements.
 */
function impatientRun(
  changes: Partial<RetentionDeps> = {},
  before: (statement: string) => Promise<void> = async () => {},
): Promise<RetentionRun | null> {
  const impatient = async (owner: OwnerSession) => {
    await owner.query('SET lock_timeout = 100');
    return watched(owner, before);
  };
  return runOn(service, impatient, { readersMs: 100, retryMs: [], ...changes });
}

/** A tenant with one event that a run on the next day removes with its partition. */
async function expiring(): Promise<{ tenant: Tenant; id: string; name: string }> {
  const tenant = await tenantOf(service, 'Starter', 21);
  const { now } = service.clock;
  const id = await recordAt(service, tenant, now - 20 * day);
  service.clock.now = now + 40 * day;
  await run(service);
  service.clock.now += day;
  return { tenant, id, name: partitionName(0, now - 20 * day) };
}

test('a partition with a reader stays in sight, and is tried again until it has none', async () => {
  const { tenant, id, name } = await expiring();
  const { end } = await longReader(service);
  try {
    expect((await impatientRun())?.waiting).toContain(name);
    expect(await stored(service, [id])).toEqual([id]);
    let looks = 0;
    const done = await impatientRun({ retryMs: [1, 1] }, async (statement) => {
      if (statement.startsWith('UPDATE retention_clock')) looks += 1;
      if (looks > 1) await end();
    });
    expect(done?.waiting).toEqual([]);
    expect(done?.dropped).toContain(name);
    expect(done?.tenants.map(({ tenantId }) => tenantId)).toContain(tenant.id);
  } finally {
    await end();
  }
  expect(await stored(service, [id])).toEqual([]);
  await expectRetainedIntact(service, tenant.id);
});

test('one that was on its way out already is tried again by the same run as well', async () => {
  const { tenant, id, name } = await expiring();
  const { end } = await longReader(service);
  try {
    await beginDetaching(service, name);
    let attempts = 0;
    const done = await impatientRun({ retryMs: [1, 1] }, async (statement) => {
      if (!statement.endsWith('FINALIZE')) return;
      attempts += 1;
      if (attempts > 3) await end(); // three make a first look
    });
    expect(done?.waiting).toEqual([]);
    expect(done?.dropped).toContain(name);
  } finally {
    await end();
  }
  expect(await stored(service, [id])).toEqual([]);
  await expectRetainedIntact(service, tenant.id);
});

test('while a run pauses for a reader others have their turn, and a service that stops does not wait', async () => {
  await expiring();
  const { end } = await longReader(service);
  const ending = new AbortController();
  const pausing = Promise.withResolvers<void>();
  const changes = { retryMs: [3_600_000], stopping: ending.signal };
  const running = impatientRun(changes, async (statement) => {
    if (statement.includes('pg_advisory_unlock')) pausing.resolve();
  });
  const ended = expect(running).rejects.toThrow();
  try {
    await pausing.promise;
    await withOwnerSession(service.ownerUrl, async (owner) => {
      while (!(await takeRetentionLock(owner))) await nextTurn(10);
    });
    ending.abort(new Error('the service is stopping'));
    await ended;
  } finally {
    await end();
  }
  expect((await run(service))?.waiting).toEqual([]);
});

test('an event for a partition that is on its way out is to be sent again, and no other waits for it', async () => {
  const tenant = await service.tenant('Pro');
  const then = service.clock.now - 100 * day;
  const early = await recordLate(service, tenant, then);
  const { end } = await longReader(service);
  const [late, other] = [eventAt(then), eventAt(service.clock.now)];
  const send = (events: unknown[]) =>
    service.call({
      method: 'POST',
      url: '/api/audit-logs/batch',
      key: tenant.key,
      body: { events },
    });
  try {
    await beginDetaching(service, partitionName(lateClass, then, 4));
    const { body } = await send([late, other]);
    expect(body.results).toMatchObject([
      { status: 'rejected', error: { code: 'unavailable' } },
      { status: 'created' },
    ]);
  } finally {
    await end();
  }
  await run(service);
  expect((await send([late, other])).body.results).toMatchObject([
    { status: 'created' },
    { status: 'duplicate' },
  ]);
  expect(await listed(service, tenant)).toEqual([early, late.id, other.id]);
  await expectRetainedIntact(service, tenant.id);
});

test('under a hold no event moves into a partition that is on its way out', async () => {
  const tenant = await tenantOf(service, 'Enterprise', 201);
  const { now } = service.clock;
  const old = await recordAt(service, tenant, now - 200 * day);
  const recent = await recordAt(service, tenant, now);
  for (let n = 0; n < 2; n++) {
    service.clock.now += day;
    await run(service);
  }
  await service.owner.query('SET ROLE indelible_owner');
  await service.owner.query('SELECT place_partition(3::smallint, $1)', [new Date(now - 200 * day)]);
  await service.owner.query('RESET ROLE');
  const { end } = await longReader(service);
  try {
    const name = partitionName(3, now - 200 * day, 6);
    await beginDetaching(service, name);
    await change(service, tenant, { legalHold: true });
    expect((await impatientRun())?.waiting).toContain(name);
    expect(await listed(service, tenant)).toEqual([old, recent]);
  } finally {
    await end();
  }
  await run(service);
  expect(await listed(service, tenant)).toEqual([old, recent]);
  await run(service);
  expect(await listed(service, tenant)).toEqual([old, recent]);
  expect(await classesOf(service, tenant)).toEqual({ current: 3, others: [], lying: [3] });
  await expectRetainedIntact(service, tenant.id);
});

test('a locked table keeps no other from going, and is named until it has gone', async () => {
  const { tenant, name } = await expiring();
  await service.owner.query(`ALTER TABLE audit_events DETACH PARTITION ${name} CONCURRENTLY`);
  await service.owner.query(`BEGIN; LOCK TABLE ${name} IN ACCESS SHARE MODE`);
  const held = await impatientRun({ retryMs: [1, 1] });
  expect(held?.waiting).toEqual([name]);
  expect(held?.dropped).not.toEqual([]);
  // Once, and without what is still there.
  expect((await records(service, tenant)).map(({ count }) => count)).toEqual([2]);
  await service.owner.query('COMMIT');
  await service.owner.query(`BEGIN; CREATE TABLE gone_${name} (); COMMIT`);
  await service.owner.query(`ALTER TABLE gone_${name} OWNER TO indelible_owner`);
  await service.owner.query(`BEGIN; LOCK TABLE gone_${name} IN ACCESS SHARE MODE`);
  // As a crash between giving up and dropping leaves one; its name is taken for as long.
  expect((await impatientRun())?.waiting.sort()).toEqual([name, `gone_${name}`]);
  await service.owner.query('COMMIT');
  expect(await run(service)).toMatchObject({ waiting: [], dropped: [name] });
  expect((await partitions(service)).filter((each) => each.includes(name))).toEqual([]);
});
