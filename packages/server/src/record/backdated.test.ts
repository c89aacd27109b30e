import { idsOf } from '@indelible/testing/answers';
import { expectLogIntact } from '@indelible/testing/intact';
import { actorWith, eventOf, testService } from '@indelible/testing/service';
import { afterAll, expect, test } from 'vitest';

const hour = 3_600_000;
const day = 24 * hour;

let tenant: { id: string; key: string };

const service = await testService({ BACKDATED_HOURS: '48' });
tenant = await service.tenant('Starter');
afterAll(() => expectLogIntact(service, tenant.id));

const iso = (agoMs: number) => new Date(service.clock.now - agoMs).toISOString();
const operator = actorWith({ role: 'superadmin' });

function post(path: string, body: unknown) {
  return service.call({ method: 'POST', url: `/api/audit-logs${path}`, key: tenant.key, body });
}

async function listed(query: string): Promise<string[]> {
  return idsOf(await service.call({ url: `/api/audit-logs?${query}`, key: tenant.key }));
}

test('an event that happened long before it is recorded comes with a warning', async () => {
  const warningsOf = async (agoMs: number) =>
    (await post('', eventOf({ timestamp: iso(agoMs) }))).body.warnings;
  expect(await warningsOf(48 * hour)).toEqual([]);
  expect(await warningsOf(48 * hour + 1)).toEqual(['backdated']);
  const { body } = await post('/batch', { events: [eventOf({ timestamp: iso(10 * day) })] });
  expect(body.results[0].warnings).toEqual(['backdated']);
});

test('a late event is found by the time at which it came', async () => {
  const since = service.clock.now;
  service.clock.now += hour;
  const { body } = await post('', eventOf({ timestamp: iso(20 * day) }));
  expect(await listed(`from=${iso(7 * day)}`)).not.toContain(body.id);
  const from = `received_from=${new Date(since + 1).toISOString()}`;
  expect(await listed(from)).toEqual([body.id]);
  expect(await listed(`received_to=${new Date(since + 1).toISOString()}`)).not.toContain(body.id);
  const url = `/api/audit-logs/stats?group_by=action&from=${iso(25 * day)}&${from}`;
  expect((await service.call({ url, key: tenant.key })).body.total).toBe(1);
  expect(await listed(`${from}&sort=sequence`)).toEqual([body.id]);
});

test('an operator’s event of the past stays in sight for the whole plan, and is found by its receipt', async () => {
  const since = service.clock.now;
  const past = { actor: operator, reason: 'Ticket 4711', timestamp: iso(30 * day - hour) };
  const { body } = await post('', eventOf(past));
  const query = `cross_tenant=true&received_from=${iso(0)}`;
  service.clock.now = since + 30 * day;
  expect(await listed(query)).toEqual([body.id]);
  service.clock.now += 1;
  expect(await listed(query)).toEqual([]);
});
