import { randomUUID } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import { actorOf, eraseNow, offboardNow } from '../testing/erasure-setup.ts';
import { generator, poolEvents, recordAll } from '../testing/event-pool.ts';
import { growLog } from '../testing/grow-log.ts';
import { change, day, eventAt, runTwice } from '../testing/retention-setup.ts';
import { eventOf, testService } from '../testing/service.ts';

/* Statistics of events whose values are in blocks of words. */

const service = await testService();
let tenant: { id: string; key: string };
beforeEach(async () => {
  tenant = await service.tenant();
});

const toBlocks = () => service.app.background.run('words');

async function stats(query: string, key = tenant.key) {
  const { status, body } = await service.call({ url: `/api/audit-logs/stats?${query}`, key });
  expect([status, body.detail]).toEqual([200, undefined]);
  return body;
}

/** The number of the tenant's events by action, as the table has them. */
async function storedByAction(): Promise<Record<string, number>> {
  const { rows } = await service.owner.query<{ action: string; count: number }>(
    'SELECT action, count(*)::int FROM audit_events WHERE tenant_id = $1 GROUP BY 1',
    [tenant.id],
  );
  return Object.fromEntries(rows.map(({ action, count }) => [action, count]));
}

async function countedByAction(from: number): Promise<Record<string, number>> {
  const { data } = await stats(`group_by=action&from=${new Date(from).toISOString()}`);
  type Row = { action: string; count: number };
  return Object.fromEntries(data.map(({ action, count }: Row) => [action, count]));
}

test('an answer is the same before events are in blocks, in small ones, and in those that they become', async () => {
  const events = poolEvents(500, service.clock.now, 100);
  await recordAll(service, tenant.key, events);
  const from = new Date(service.clock.now - 200 * day).toISOString();
  const queries = ['day,user', 'user', 'action,resource', 'hour', 'outcome', 'category&user=!x@y.z']
    .flatMap((keys) => [`${keys}`, `${keys}&action=login&action=update&resource=!queue`])
    .map((query) => `group_by=${query}&from=${from}`);
  const answers = () => Promise.all(queries.map((query) => stats(query)));
  const before = await answers();
  expect(before[1].total).toBeGreaterThan(20);
  for (const size of [0, 4_096, 65_536]) {
    await growLog(service, tenant.id, size);
    await toBlocks();
    expect(await answers()).toEqual(before);
  }
  const { rows } = await service.owner.query(
    'SELECT entries FROM word_blocks WHERE tenant_id = $1',
    [tenant.id],
  );
  expect(rows).toEqual([{ entries: 65_536 }]);
});

test('any range of overlapping blocks has the counts and last addresses of its rows', async () => {
  const { now } = service.clock;
  const events = [...poolEvents(3_000, now, 200, 3), ...poolEvents(1_800, now - 9 * day, 90, 4)];
  await recordAll(service, tenant.key, events);
  const queries = Array.from({ length: 60 }, (_, n) => randomQuery(generator(n), now));
  const answers = async () => {
    const all: unknown[] = [];
    for (const query of queries) all.push([query, await stats(query)]);
    return all;
  };
  const before = await answers();
  await toBlocks();
  const { rows } = await service.owner.query(
    'SELECT entries FROM word_blocks WHERE tenant_id = $1 ORDER BY first',
    [tenant.id],
  );
  expect(rows).toEqual([{ entries: 4_096 }, { entries: 256 }, { entries: 256 }]);
  expect(await answers()).toEqual(before);
});

/** Over up to half a year, of which many ends are in the same millisecond as an event. */
function randomQuery(random: (below: number) => number, now: number): string {
  random(1);
  const pick = (...texts: string[]) => texts[random(texts.length)];
  const keys = pick('user', 'user,day', 'hour,user', 'user,action', 'resource,user', 'day', 'hour');
  const others = pick('', '&action=login', '&category=!security', '&resource=ivr&action=!send');
  const zone = pick('UTC', 'Europe/Berlin', 'Asia/Kolkata', 'America/St_Johns');
  const to = now - random(60) * Math.floor((200 * day) / 60) - random(2);
  const from = to - 1 - random(random(2) ? 180 * day : 5 * day);
  const iso = (ms: number) => new Date(ms).toISOString();
  return `group_by=${keys}${others}&time_zone=${zone}&from=${iso(from)}&to=${iso(to)}`;
}

test('an erased address is in no statistics, in a block or not; the count stays', async () => {
  const ana = randomUUID();
  const hers = eventOf({ actor: actorOf(ana, 'Quetzal@example.com') });
  await recordAll(service, tenant.key, [hers, ...poolEvents(255, service.clock.now, 20), hers]);
  await toBlocks();
  const shown = async () => {
    const { data } = await stats(`group_by=user&user=${ana}`);
    return data;
  };
  expect(await shown()).toEqual([{ user: ana, email: 'Quetzal@example.com', count: 2 }]);
  await eraseNow(service, { tenantId: tenant.id, actor: ana });
  expect(await shown()).toEqual([{ user: ana, email: null, count: 2 }]);
  const { data } = await stats('group_by=day,user');
  expect(JSON.stringify(data).toLowerCase()).not.toContain('quetzal');
});

test('an event whose context is erased counts as the outcome that its action says', async () => {
  const one = eventOf({ action: 'login_failed', outcome: 'denied' });
  const { body: event } = await service.call({
    ...{ method: 'POST', url: '/api/audit-logs', key: tenant.key, body: one },
  });
  await recordAll(service, tenant.key, poolEvents(255, service.clock.now, 20));
  await toBlocks();
  const counted = async () => (await stats('group_by=outcome&action=login_failed')).data;
  expect(await counted()).toEqual([{ outcome: 'denied', count: 1 }]);
  await eraseNow(service, { tenantId: tenant.id, eventId: event.id, segment: 'context' });
  expect(await counted()).toEqual([{ outcome: 'failure', count: 1 }]);
});

test('what retention removed is not counted under a longer plan, though its block stays', async () => {
  const begun = service.clock.now;
  tenant = await service.tenant('Starter');
  await recordAll(service, tenant.key, Array(249).fill(eventOf({ action: 'login' })));
  service.clock.now = begun + 20 * day;
  // Earlier than all others, and removed later than they are: 30 days after its receipt.
  await recordAll(service, tenant.key, [eventAt(begun - 5 * day)]);
  await recordAll(service, tenant.key, Array(10).fill(eventOf({ action: 'update' })));
  await toBlocks();
  service.clock.now = begun + 32 * day;
  await runTwice(service);
  const { rows } = await service.owner.query<{ events: number }>(
    'SELECT octet_length(ids) / 16 AS events FROM word_blocks WHERE tenant_id = $1',
    [tenant.id],
  );
  expect(rows).toEqual([{ events: 256 }]);
  await change(service, tenant, { plan: 'Enterprise' });
  const counted = await countedByAction(begun - 10 * day);
  expect(counted).toEqual(await storedByAction());
  expect([counted.login, counted.publish]).toEqual([undefined, 1]);
  service.clock.now = begun;
});

test('events that move to another class, and late ones, are counted once', async () => {
  tenant = await service.tenant('Pro');
  const { now } = service.clock;
  await recordAll(service, tenant.key, poolEvents(200, now, 100));
  await change(service, tenant, { plan: 'Enterprise' });
  await recordAll(service, tenant.key, poolEvents(200, now, 100, 2));
  await toBlocks();
  expect(await countedByAction(now - 200 * day)).toEqual(await storedByAction());
  await runTwice(service);
  expect(await countedByAction(now - 200 * day)).toEqual(await storedByAction());
});

test('from the beginning of an offboarding on, blocks do not count', async () => {
  await recordAll(service, tenant.key, poolEvents(300, service.clock.now, 20));
  await toBlocks();
  await service.app.checkpoints.tick();
  const bound = 'SELECT whole_from_ms AS ms FROM word_heads WHERE tenant_id = $1';
  expect((await service.owner.query(bound, [tenant.id])).rows).toEqual([{ ms: '0' }]);
  await offboardNow(service, tenant.id);
  const [{ ms }] = (await service.owner.query(bound, [tenant.id])).rows;
  expect(Number(ms)).toBeGreaterThan(service.clock.now);
});

test("another tenant's events are never counted, and the newest ones at once", async () => {
  await recordAll(service, tenant.key, poolEvents(300, service.clock.now, 20));
  await toBlocks();
  const other = await service.tenant();
  expect((await stats('group_by=action&action=login', other.key)).total).toBe(0);
  const { total } = await stats('group_by=day&action=login');
  await recordAll(service, tenant.key, [eventOf({ action: 'login' })]);
  expect((await stats('group_by=day&action=login')).total).toBe(total + 1);
});
