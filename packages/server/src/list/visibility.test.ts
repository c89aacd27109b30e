import { defaultPlans, eventIdFromUuid, importedEventUuid, type Plan } from '@indelible/protocol';
import { recordOne } from '@indelible/testing/event-pool';
import { expectLogIntact } from '@indelible/testing/intact';
import { at, planCutoff } from '@indelible/testing/retention-setup';
import { eventOf, testService } from '@indelible/testing/service';
import { beforeEach, expect, test } from 'vitest';

const hour = 3_600_000;
const day = 24 * hour;
const noon = Date.UTC(2026, 10, 20, 12);
const resourceId = '20000000-0000-4000-8000-00000000000a';

const service = await testService();
beforeEach(() => {
  service.clock.now = noon;
});

interface Tenant {
  id: string;
  key: string;
}

let number = 0;

/** An event of that moment, as a producer sends it. */
function eventAt(ms: number) {
  number += 1;
  const id = eventIdFromUuid(importedEventUuid(ms, number, Buffer.alloc(8, 7)));
  const resource = { type: 'ivr', id: resourceId };
  return { ...eventOf({ id, action: 'publish', resource }), id };
}

const post = ({ key }: Tenant, event: unknown) =>
  service.call({ method: 'POST', url: '/api/audit-logs', key, body: event });

async function recordLate(tenant: Tenant, ms: number): Promise<string> {
  return (await recordOne(service, tenant.key, eventAt(ms))).id;
}

/** Records it when it happens; the tenant must be older. */
const recordAt = (tenant: Tenant, ms: number) => at(service, ms, () => recordLate(tenant, ms));

/** A tenant that is older than its plan keeps events. */
const oldTenant = (plan: Plan) =>
  at(service, planCutoff(plan, noon) - 20 * day, () => service.tenant(plan));

async function put({ id }: Tenant, body: Record<string, unknown>): Promise<void> {
  const headers = { 'x-access-reason': 'contract changed' };
  const answer = await service.call({ method: 'PUT', url: `/api/tenants/${id}`, body, headers });
  expect(answer.status).toBe(200);
}

const lists = [
  ...['limit=500', 'limit=500&order=asc', 'limit=500&sort=user', 'limit=500&sort=user&order=desc'],
  ...['limit=500&sort=sequence', 'limit=500&sort=sequence&order=desc'],
  `limit=500&include=state&resource_id=${resourceId}`,
  `limit=500&include=state&resource_id=${resourceId}&sort=sequence`,
  'limit=500&user=ana@example.com&user=00000000-0000-0000-0000-000000000000',
  'limit=500&from=1970-01-01',
];
const counts = ['action', 'user', 'resource,category'];

/**
 * Which of these events the tenant is shown, newest first. Every way to ask must agree: by id, in
 * each kind of list, as a total and as a count.
 */
async function shown({ key }: Tenant, ids: readonly string[]): Promise<string[]> {
  const visible: string[] = [];
  for (const id of ids) {
    const { status } = await service.call({ url: `/api/audit-logs/${id}`, key });
    expect([200, 404]).toContain(status);
    if (status === 200) visible.push(id);
  }
  visible.sort().reverse();
  for (const query of lists) {
    const { body } = await service.call({ url: `/api/audit-logs?action=publish&${query}`, key });
    const listed = body.data.map((event: { id: string }) => event.id);
    expect([...listed].sort().reverse(), query).toEqual(visible);
    if (query === 'limit=500') expect(listed).toEqual(visible);
  }
  const url = '/api/audit-logs?action=publish&include=total';
  const { body } = await service.call({ url, key });
  expect(body.pagination.total).toEqual({ value: visible.length, relation: 'eq' });
  for (const group of counts) {
    const range = `action=publish&from=1970-01-01&to=2100-01-01&group_by=${group}`;
    const stats = await service.call({ url: `/api/audit-logs/stats?${range}`, key });
    expect(stats.body.total, group).toBe(visible.length);
  }
  return visible;
}

test.each(defaultPlans.names)(
  '%s shows an event until its last millisecond, and nowhere after it',
  async (plan) => {
    const tenant = await oldTenant(plan);
    const cutoff = planCutoff(plan, noon);
    const edge = await recordAt(tenant, cutoff);
    const next = await recordAt(tenant, cutoff + 1);
    const recent = await recordAt(tenant, noon);
    const all = [recent, next, edge];
    expect(await shown(tenant, all)).toEqual(all);
    service.clock.now = noon + 1;
    expect(await shown(tenant, all)).toEqual([recent, next]);
    service.clock.now = noon + 2;
    expect(await shown(tenant, all)).toEqual([recent]);
    expect((await post(tenant, eventAt(cutoff + 1))).body.code).toBe('outside_retention');
    await expectLogIntact(service, tenant.id);
  },
);

test.each<[string, number]>([
  ['an hour', noon - 30 * day + hour],
  ['a day', noon - 29 * day],
])(
  'an event stamped %s before its plan ends is shown for the whole plan from its receipt',
  async (_, ms) => {
    const tenant = await oldTenant('Starter');
    const event = eventAt(ms);
    const created = await post(tenant, event);
    expect(created.status).toBe(201);
    for (const nowMs of [noon, noon + day, noon + 30 * day]) {
      service.clock.now = nowMs;
      expect(await shown(tenant, [event.id])).toEqual([event.id]);
      const again = await post(tenant, event);
      expect([again.status, again.body.sequence]).toEqual([200, created.body.sequence]);
      expect((await post(tenant, { ...event, action: 'delete' })).body.code).toBe('id_conflict');
    }
    service.clock.now = noon + 30 * day + 1;
    expect(await shown(tenant, [event.id])).toEqual([]);
    expect((await post(tenant, event)).body.code).toBe('outside_retention');
    await put(tenant, { legalHold: true });
    expect(await shown(tenant, [event.id])).toEqual([event.id]);
    expect((await post(tenant, event)).status).toBe(200);
    await expectLogIntact(service, tenant.id);
  },
);

test('an event that came in time is the same event when it is sent again late', async () => {
  const tenant = await oldTenant('Starter');
  const event = eventAt(noon - 29 * day);
  const { body } = await at(service, noon - 29 * day, () => post(tenant, event));
  const again = await post(tenant, event);
  expect([again.status, again.body.sequence]).toEqual([200, body.sequence]);
  await expectLogIntact(service, tenant.id);
});

test('an event hidden by age is answered exactly as one that never was', async () => {
  const tenant = await oldTenant('Starter');
  const old = await recordAt(tenant, noon - 30 * day);
  service.clock.now = noon + 1;
  const hidden = await service.call({ url: `/api/audit-logs/${old}`, key: tenant.key });
  const missing = await service.call({
    url: `/api/audit-logs/${eventAt(noon).id}`,
    key: tenant.key,
  });
  const told = (answer: typeof hidden) => answer.text.replaceAll(answer.body.requestId, '');
  expect([hidden.status, told(hidden)]).toEqual([404, told(missing)]);
});

test('a downgrade hides at once, an upgrade shows again, and events of all classes stand in one order', async () => {
  const tenant = await oldTenant('Enterprise');
  const years = await recordAt(tenant, noon - 1_000 * day);
  const months = await recordAt(tenant, noon - 100 * day);
  const days = await recordAt(tenant, noon - 10 * day);
  expect(await shown(tenant, [years, months, days])).toEqual([days, months, years]);

  await put(tenant, { plan: 'Pro' });
  const asPro = await recordLate(tenant, noon - 50 * day);
  expect(await shown(tenant, [years, months, days, asPro])).toEqual([days, asPro, months]);

  await put(tenant, { plan: 'Starter' });
  const asStarter = await recordLate(tenant, noon - 20 * day);
  const all = [days, asStarter, asPro, months, years];
  expect(await shown(tenant, all)).toEqual([days, asStarter, asPro]);

  await put(tenant, { plan: 'Enterprise' });
  const again = await recordLate(tenant, noon - 60 * day);
  expect(await shown(tenant, [...all, again])).toEqual([
    ...[days, asStarter, asPro, again, months, years],
  ]);
  await expectLogIntact(service, tenant.id);
});

test('an upgrade shows nothing that has expired under the new plan as well', async () => {
  const tenant = await oldTenant('Pro');
  const old = await recordAt(tenant, noon - 360 * day);
  const recent = await recordAt(tenant, noon - 5 * day);
  service.clock.now = noon + 20 * day;
  expect(await shown(tenant, [old, recent])).toEqual([recent]);
  await put(tenant, { plan: 'Enterprise' });
  expect(await shown(tenant, [old, recent])).toEqual([recent, old]);
  service.clock.now = noon + 7 * 366 * day;
  expect(await shown(tenant, [old, recent])).toEqual([]);
});

test('pages lead in one order through events of several classes', async () => {
  const tenant = await service.tenant('Starter');
  const ids: string[] = [];
  const changes = [{ plan: 'Pro' }, { plan: 'Enterprise' }, { legalHold: true }, {}];
  for (const [round, change] of changes.entries()) {
    // Interleaved: each class has events between those of the others.
    for (let n = 0; n < 6; n++) ids.push(await recordLate(tenant, noon - (n * 4 + round) * day));
    if (Object.keys(change).length > 0) await put(tenant, change);
  }
  const expected = [...ids].sort().reverse();
  for (const sort of ['timestamp', 'user']) {
    const seen: string[] = [];
    let cursor = '';
    do {
      const query = `action=publish&limit=5&sort=${sort}&order=desc${cursor}`;
      const { body } = await service.call({ url: `/api/audit-logs?${query}`, key: tenant.key });
      seen.push(...body.data.map((event: { id: string }) => event.id));
      const { nextCursor } = body.pagination;
      cursor = nextCursor === null ? '' : `&cursor=${nextCursor}`;
    } while (cursor !== '');
    expect(seen).toEqual(expected);
  }
});

test.each<[Plan, Record<string, unknown>]>([
  ['Starter', { plan: 'Enterprise' }],
  ['Enterprise', { plan: 'Starter' }],
  ['Pro', { legalHold: true }],
])(
  'after %s becomes %j the same event is still the same, and another content a conflict',
  async (plan, change) => {
    const tenant = await service.tenant(plan);
    const event = eventAt(noon - 3 * day);
    expect((await post(tenant, event)).status).toBe(201);
    await put(tenant, change);
    const again = await post(tenant, event);
    expect(again.status).toBe(200);
    expect(again.body.id).toBe(event.id);
    expect((await post(tenant, { ...event, action: 'delete' })).body.code).toBe('id_conflict');
    const batch = { method: 'POST' as const, url: '/api/audit-logs/batch', key: tenant.key };
    const { body } = await service.call({
      ...batch,
      body: { events: [event, eventAt(noon), event] },
    });
    const statuses = body.results.map((result: { status: string }) => result.status);
    expect(statuses).toEqual(['duplicate', 'created', 'duplicate']);
    expect(await shown(tenant, [body.results[0].id, body.results[1].id])).toHaveLength(2);
    await expectLogIntact(service, tenant.id);
  },
);

test('a legal hold shows everything and takes events of any age; lifting it hides again', async () => {
  const tenant = await oldTenant('Starter');
  const old = await recordAt(tenant, noon - 29 * day);
  const recent = await recordAt(tenant, noon - day);
  service.clock.now = noon + 5 * day;
  expect(await shown(tenant, [old, recent])).toEqual([recent]);
  await put(tenant, { legalHold: true });
  expect(await shown(tenant, [old, recent])).toEqual([recent, old]);
  const ancient = await recordLate(tenant, Date.UTC(1999, 0, 1));
  service.clock.now = noon + 9_000 * day;
  expect(await shown(tenant, [old, recent, ancient])).toEqual([recent, old, ancient]);
  service.clock.now = noon + 5 * day;
  await put(tenant, { legalHold: false });
  expect(await shown(tenant, [old, recent, ancient])).toEqual([recent, ancient]);
  service.clock.now = noon + 35 * day + 1;
  expect(await shown(tenant, [old, recent, ancient])).toEqual([]);
  await expectLogIntact(service, tenant.id);
});

test("another tenant's plan changes nothing", async () => {
  const tenant = await oldTenant('Enterprise');
  const other = await oldTenant('Enterprise');
  const old = await recordAt(tenant, noon - 500 * day);
  await recordAt(other, noon - 500 * day);
  await put(other, { plan: 'Starter' });
  expect(await shown(tenant, [old])).toEqual([old]);
  expect(await shown(other, [old])).toEqual([]);
});
