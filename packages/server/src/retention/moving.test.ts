import { firstUuidAt, uuidFromEventId } from '@indelible/protocol';
import { expectRetainedIntact } from '@indelible/testing/intact';
import {
  change,
  classesOf,
  day,
  listed,
  partitionFor,
  partitions,
  recordAt,
  recordLate,
  run,
  runOn,
  stored,
  type Tenant,
  tenantOf,
} from '@indelible/testing/retention-setup';
import { testService } from '@indelible/testing/service';
import { expect, test } from 'vitest';
import type { OwnerSession } from '../postgres/db.ts';

const service = await testService();

const batchRows = 3;

/** A run of small batches that is cut off before its transaction `at`; whether it came that far. */
function cutOffBefore(at: number): Promise<boolean> {
  let transactions = 0;
  const cut = (owner: OwnerSession): OwnerSession => ({
    ...owner,
    transaction: (work) => {
      transactions += 1;
      if (transactions === at) throw new Error('cut off');
      return owner.transaction(work);
    },
  });
  return runOn(service, cut, { batchRows }).then(
    () => false,
    () => true,
  );
}

/** How many of these events lie in each class. */
async function spread({ id }: Tenant, ids: readonly string[]) {
  const { rows } = await service.owner.query<{ class: number; count: number }>(
    `SELECT retention_class AS class, count(*)::int AS count FROM audit_events
     WHERE tenant_id = $1 AND id = ANY ($2) GROUP BY 1 ORDER BY 1`,
    [id, ids.map((each) => uuidFromEventId(each))],
  );
  return Object.fromEntries(rows.map((row) => [row.class, row.count]));
}

test('a move of several batches that is cut off between any two goes on, and lists stay whole', async () => {
  const tenant = await tenantOf(service, 'Enterprise', 160);
  const { now } = service.clock;
  const ids: string[] = [];
  // Ten in one month, and three in the next: batches end with their number and with a partition.
  const first = Date.UTC(new Date(now).getUTCFullYear(), new Date(now).getUTCMonth() - 3);
  for (let n = 0; n < 10; n++) ids.push(await recordAt(service, tenant, first + n));
  for (let n = 0; n < 3; n++) ids.push(await recordAt(service, tenant, first + 40 * day + n));
  await run(service);
  await change(service, tenant, { plan: 'Pro' });
  const halves: unknown[] = [];
  // The first transaction moves what the service recorded when it made the tenant.
  for (const at of [3, 3]) {
    expect(await cutOffBefore(at)).toBe(true);
    halves.push(await spread(tenant, ids));
    expect(await listed(service, tenant)).toEqual(ids);
  }
  expect(halves).toEqual([
    { 1: 3, 2: 10 },
    { 1: 9, 2: 4 },
  ]);
  await change(service, tenant, { legalHold: true }); // and there is another change half way
  expect(await cutOffBefore(3)).toBe(true);
  expect(await listed(service, tenant)).toEqual(ids);
  await run(service, { batchRows });
  expect(await listed(service, tenant)).toEqual(ids);
  expect(await classesOf(service, tenant)).toEqual({ current: 3, others: [], lying: [3] });
  await expectRetainedIntact(service, tenant.id);
});

/** A tenant with eight events that its new, smaller plan does not keep; their grace has ended. */
async function afterGrace() {
  const tenant = await tenantOf(service, 'Enterprise', 401);
  const { now } = service.clock;
  const ids: string[] = [];
  for (let n = 0; n < 8; n++) ids.push(await recordAt(service, tenant, now - 400 * day + n));
  await change(service, tenant, { plan: 'Pro' });
  service.clock.now = now + 31 * day;
  await run(service);
  service.clock.now += day;
  return { tenant, ids };
}

test('a removal of several batches that is cut off between two is recorded before, and goes on', async () => {
  const { tenant, ids } = await afterGrace();
  // The first transactions record what goes; then come the batches, and last the class is closed.
  let cut = 0;
  while ((await stored(service, ids)).length === ids.length && cut < 30) {
    cut += 1;
    await cutOffBefore(cut);
  }
  const left = await stored(service, ids);
  expect([7, 4]).toContain(left.length); // the service recorded two before them
  expect(left).toEqual(ids.slice(-left.length));
  await expectRetainedIntact(service, tenant.id);
  await run(service, { batchRows });
  expect(await stored(service, ids)).toEqual([]);
  expect(await classesOf(service, tenant)).toEqual({ current: 1, others: [], lying: [1] });
  await expectRetainedIntact(service, tenant.id);
});

test('a hold that is placed between two batches of a removal keeps what is left', async () => {
  const { tenant, ids } = await afterGrace();
  let left = ids;
  const holding = (owner: OwnerSession): OwnerSession => ({
    ...owner,
    transaction: async (work) => {
      const before = left.length;
      if (before === ids.length) left = await stored(service, ids);
      if (left.length < before) await change(service, tenant, { legalHold: true });
      return owner.transaction(work);
    },
  });
  await runOn(service, holding, { batchRows });
  expect([7, 4]).toContain(left.length); // the service recorded two before them
  expect(await stored(service, ids)).toEqual(left);
  expect(await listed(service, tenant)).toEqual(left);
  await expectRetainedIntact(service, tenant.id);
});

const many = 4_000;

/**
 * Gives the tenant many events of the last 300 days,
 * by what one of them is; returns their ids in order.
 */
async function fill(tenant: Tenant): Promise<void> {
  const { now } = service.clock;
  const template = uuidFromEventId(await recordAt(service, tenant, now - 301 * day));
  for (let n = 0; n <= 300; n += 20) await partitionFor(service, tenant, now - n * day);
  await service.owner.query(
    `INSERT INTO audit_events SELECT e.tenant_id, (substr(first_id_at(at)::text, 1, 14) || '7000-8000-' ||
         lpad(to_hex(n), 12, '0'))::uuid AS id, sequence, received_at, actor_id, resource_id, recorded_by_id,
       retention_class, cross_tenant, recorded_by_kind, actor_email, actor_email_key, actor_role, actor_ip,
       actor_user_agent, action, resource_type, resource_name, category, reason, diff, before, after, salts, erased
     FROM audit_events e, generate_series(1, ${many}) n,
       LATERAL (SELECT $2::timestamptz + n * (interval '300 days' / ${many}) AS at) t
     WHERE e.tenant_id = $1 AND e.id = $3 AND e.id >= $4`,
    [tenant.id, new Date(now - 300 * day), template, firstUuidAt(0)],
  );
}

interface Walk {
  ids: string[];
  firstMs: number;
  /** The slowest of the pages behind it. */
  cursorMs: number;
}

/** The whole list, page by page. */
async function walk({ key }: Tenant, order: string): Promise<Walk> {
  const found: Walk = { ids: [], firstMs: 0, cursorMs: 0 };
  const url = `/api/audit-logs?action=publish&limit=500&order=${order}`;
  for (let cursor: string | null = ''; cursor !== null; ) {
    const from = performance.now();
    const next: string = cursor === '' ? url : `${url}&cursor=${cursor}`;
    const { status, body } = await service.call({ url: next, key });
    const tookMs = performance.now() - from;
    expect(status).toBe(200);
    if (cursor === '') found.firstMs = tookMs;
    else found.cursorMs = Math.max(found.cursorMs, tookMs);
    found.ids.push(...body.data.map((event: { id: string }) => event.id));
    cursor = body.pagination.nextCursor;
  }
  return found;
}

test('lists are whole, in order and as fast as before while thousands of events change their class', async () => {
  const tenant = await tenantOf(service, 'Enterprise', 302);
  await fill(tenant);
  const before = await walk(tenant, 'desc');
  expect(before.ids).toHaveLength(many + 1);
  const forwards = before.ids.toReversed();
  await change(service, tenant, { plan: 'Pro' });
  let ended = false;
  const running = run(service, { batchRows: 75 }).finally(() => {
    ended = true;
  });
  const walks: Walk[] = [];
  for (let n = 0; !ended; n++) {
    const found = await walk(tenant, n % 2 === 0 ? 'desc' : 'asc');
    expect(found.ids).toEqual(n % 2 === 0 ? before.ids : forwards);
    walks.push(found);
  }
  expect((await running)?.moved).toBeGreaterThan(many);
  expect(walks.length).toBeGreaterThan(1);
  // The best of them: most of the rest is the time of whatever else the machine does.
  const first = Math.min(...walks.map(({ firstMs }) => firstMs));
  const cursor = Math.min(...walks.map(({ cursorMs }) => cursorMs));
  expect(first).toBeLessThan(250 + before.firstMs);
  expect(cursor).toBeLessThan(250 + before.cursorMs);
  expect(await classesOf(service, tenant)).toEqual({ current: 1, others: [], lying: [1] });
  expect((await walk(tenant, 'desc')).ids).toEqual(before.ids);
});

test('late events under a legal hold share a partition a year, and go once hold and plan are over', async () => {
  const tenant = await service.tenant('Starter');
  await change(service, tenant, { legalHold: true });
  const ids: string[] = [];
  for (let month = 0; month < 12; month++) {
    ids.push(await recordLate(service, tenant, Date.UTC(1999, month, 2)));
  }
  const wide = async () => (await partitions(service)).filter((name) => name.includes('_1999'));
  expect(await wide()).toEqual(['audit_events_1000_1999']);
  await run(service);
  expect(await listed(service, tenant)).toEqual(expect.arrayContaining(ids));
  await change(service, tenant, { legalHold: false });
  for (let days = 0; days < 60; days += 10) {
    service.clock.now += 10 * day;
    await run(service);
  }
  expect(await stored(service, ids)).toEqual([]);
  expect(await wide()).toEqual([]);
});
