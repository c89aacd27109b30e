import { expectRetainedIntact } from '@indelible/testing/intact';
import {
  change,
  classesOf,
  day,
  detachedPartitions,
  listed,
  recordAt,
  records,
  run,
  runOn,
  stored,
  type Tenant,
  tenantOf,
  watched,
} from '@indelible/testing/retention-setup';
import { testService } from '@indelible/testing/service';
import { beforeEach, expect, test } from 'vitest';
import type { OwnerSession } from '../postgres/db.ts';

const service = await testService();
beforeEach(() => {
  service.clock.now += day;
});

/**
 * What changes nothing by itself, or only takes one more of a table's indexes: no step of its own.
 */
const isNoStep = (statement: string) =>
  /^\s*(WITH RECURSIVE|DROP INDEX|SELECT (?!make_|place_))/i.test(statement);

/**
 * A session whose connection is ended at step `at` of what it makes durable:
 * before the statement is sent, or in the middle of the transaction. What
 * follows finds everything before it done, and nothing else.
 */
async function fragile(owner: OwnerSession, at: number): Promise<OwnerSession> {
  const { rows } = await owner.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const kill = () => service.owner.query('SELECT pg_terminate_backend($1, 5000)', [rows[0]?.pid]);
  let steps = 0;
  const session = watched(owner, async (statement) => {
    if (isNoStep(statement)) return;
    steps += 1;
    if (steps === at) await kill();
  });
  return {
    ...session,
    transaction: (work) =>
      owner.transaction(async (tx) => {
        steps += 1;
        const isLast = steps === at;
        const result = await work(tx);
        if (isLast) await kill(); // before its COMMIT
        return result;
      }),
  };
}

/** A run that is cut off at its step `at`; whether it came that far. */
function cutOff(at: number): Promise<boolean> {
  return runOn(service, (owner) => fragile(owner, at)).then(
    () => false,
    () => true,
  );
}

/** Starter tenants with one event each, which expire a day after each other. */
const expiring: { tenant: Tenant; id: string }[] = [];

/** A day later: a partition to drop, events to move, and events that a grace no longer keeps. */
async function somethingToDo() {
  service.clock.now += day;
  const { now } = service.clock;
  const tenant = await tenantOf(service, 'Starter', 29.5);
  expiring.push({ tenant, id: await recordAt(service, tenant, now - 29 * day) });
  const moving = await tenantOf(service, 'Starter', 29.5);
  const moved = [
    await recordAt(service, moving, now - 29 * day),
    await recordAt(service, moving, now),
  ];
  await change(service, moving, { plan: 'Pro' });
  const leaving = await tenantOf(service, 'Enterprise', 501);
  const left = await recordAt(service, leaving, now - 500 * day);
  await change(service, leaving, { plan: 'Pro' });
  // As if that had been a month ago.
  const longAgo = 'UPDATE grace SET until = $2 WHERE tenant_id = $1';
  await service.owner.query(longAgo, [leaving.id, new Date(now - 3 * day)]);
  const expired = expiring.length > 4 ? expiring.shift() : undefined;
  const gone = expired ? [expired.id, left] : [left];
  return { expired: expired?.tenant ?? leaving, moving, leaving, gone, moved };
}

type Work = Awaited<ReturnType<typeof somethingToDo>>;

async function expectDone({ expired, moving, leaving, gone, moved }: Work) {
  expect(await stored(service, gone)).toEqual([]);
  expect(await listed(service, moving)).toEqual(moved);
  expect(await classesOf(service, moving)).toEqual({ current: 1, others: [], lying: [1] });
  expect(await classesOf(service, leaving)).toMatchObject({ current: 1, others: [] });
  expect((await records(service, expired)).length).toBeGreaterThan(0);
  for (const { id } of [expired, moving, leaving]) await expectRetainedIntact(service, id);
  expect(await leftovers()).toEqual([]);
}

/** Tables of events that are no partitions, whatever they are called. */
async function leftovers() {
  const { rows } = await service.owner.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relname LIKE '%audit\\_events\\_%'
       AND NOT EXISTS (SELECT FROM pg_inherits WHERE inhrelid = pg_class.oid)`,
  );
  return rows.map(({ name }) => name);
}

test('a run that is cut off before any step is durable leaves nothing broken, and the next one completes it', async () => {
  let work = await somethingToDo();
  for (let n = 0; n < 5; n++) {
    await run(service);
    work = await somethingToDo();
  }
  let cut = 0;
  while (await cutOff(cut + 1)) {
    cut += 1;
    // What is owed is there at every moment.
    expect(await listed(service, work.moving)).toEqual(work.moved);
    expect(await stored(service, work.moved)).toEqual(work.moved);
    for (const { id } of [work.expired, work.leaving]) await expectRetained(id, work);
    await run(service);
    await expectDone(work);
    work = await somethingToDo();
  }
  expect(cut).toBeGreaterThan(15);
  await expectDone(work);
});

/** What is missing is covered, unless it only waits in a detached partition. */
async function expectRetained(tenantId: string, { gone }: Work) {
  const detached = await detachedPartitions(service);
  if (detached.length === 0) await expectRetainedIntact(service, tenantId);
  else expect(gone.length).toBeGreaterThan(0);
}

test('while one run does the work, others do nothing', async () => {
  await run(service);
  const work = await somethingToDo();
  let others: Promise<unknown[]> | undefined;
  // The first step of its work waits until the others have come and gone.
  const wait = async (statement: string) => {
    if (!isNoStep(statement)) others ??= Promise.all([run(service), run(service)]);
    await others;
  };
  const done = await runOn(service, (owner) => watched(owner, wait));
  expect(await others).toEqual([null, null]);
  expect(done).not.toBeNull();
  await expectDone(work);
});
