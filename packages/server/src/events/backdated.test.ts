import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectLogIntact } from '../testing/intact.ts';
import { actorWith, eventOf, type TestService, testService } from '../testing/service.ts';

const hour = 3_600_000;
const day = 24 * hour;

let service: TestService;
let tenant: { id: string; key: string };

beforeAll(async () => {
  service = await testService({ BACKDATED_HOURS: '48' });
  tenant = await service.tenant('Starter');
});
afterAll(async () => {
  await expectLogIntact(service, tenant.id);
  await service.close();
});

const iso = (agoMs: number) => new Date(service.clock.now - agoMs).toISOString();
const operator = actorWith({ role: 'superadmin' });

function post(path: string, body: unknown) {
  return service.call({ method: 'POST', url: `/api/audit-logs${path}`, key: tenant.key, body });
}

async function idsOf(query: string): Promise<string[]> {
  const { status, body } = await service.call({ url: `/api/audit-logs?${query}`, key: tenant.key });
  expect(status).toBe(200);
  return body.data.map(({ id }: { id: string }) => id);
}

test('an event that happened long before it is recorded comes with a warning', async () => {
  const warningsOf = async (agoMs: number) =>
    (await post('', eventOf({ timestamp: iso(agoMs) }))).body.warnings;
  expect(await warningsOf(48 * hour)).toEqual([]);
  expect(await warningsOf(48 * hour + 1)).toEqual(['backdated']);
  const { body } = await post('/batch', { events: [eventOf({ timestamp: iso(10 * day) })] });
  expect(body.results[0].warnings).toEqual(['backdated']);
});

test('what came late is found by the time at which it came', async () => {
  const since = service.clock.now;
  service.clock.now += hour;
  const { body } = await post('', eventOf({ timestamp: iso(20 * day) }));
  expect(await idsOf(`from=${iso(7 * day)}`)).not.toContain(body.id);
  const from = `received_from=${new Date(since + 1).toISOString()}`;
  expect(await idsOf(from)).toEqual([body.id]);
  expect(await idsOf(`received_to=${new Date(since + 1).toISOString()}`)).not.toContain(body.id);
  const url = `/api/audit-logs/stats?group_by=action&from=${iso(25 * day)}&${from}`;
  expect((await service.call({ url, key: tenant.key })).body.total).toBe(1);
  expect(await idsOf(`${from}&sort=sequence`)).toEqual([body.id]);
});

test('an operator’s event that its plan soon hides is told in the present, and that stays in sight', async () => {
  const past = { actor: operator, reason: 'Ticket 4711' };
  const single = await post('', eventOf({ ...past, timestamp: iso(30 * day - hour) }));
  const batch = await post('/batch', { events: [eventOf({ ...past, timestamp: iso(29 * day) })] });
  const told = [single.body.id, batch.body.results[0].id];
  service.clock.now += 2 * day;
  // The events themselves have left the plan by now.
  expect((await service.call({ url: `/api/audit-logs/${told[0]}`, key: tenant.key })).status).toBe(
    404,
  );
  const ids = await idsOf(`cross_tenant=true&from=${iso(7 * day)}&sort=sequence`);
  const notices = await Promise.all(
    ids.map(
      async (id) => (await service.call({ url: `/api/audit-logs/${id}`, key: tenant.key })).body,
    ),
  );
  expect(notices).toMatchObject(
    told.map((eventId) => ({
      ...{ action: 'backdate', crossTenant: true, reason: 'Ticket 4711', actor: operator },
      ...{ recordedBy: { kind: 'service' }, after: { eventId, action: 'update' } },
    })),
  );
  // Sent again it is stored already, and not told again.
  await post('/batch', { events: [{ ...eventOf(past), id: told[1] }] });
  expect(await idsOf(`action=backdate`)).toHaveLength(2);
});

test('while that record cannot be stored, neither is the event', async () => {
  await service.owner.query(`
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
      $$BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = 'check_violation'; END$$;
    CREATE TRIGGER refuse BEFORE INSERT ON audit_events FOR EACH ROW
      WHEN (NEW.action = 'backdate') EXECUTE FUNCTION refuse();`);
  const late = eventOf({ actor: operator, timestamp: iso(29 * day), reason: 'Ticket 4712' });
  const { body } = await post('/batch', { events: [late, eventOf({ reason: 'Ticket 4713' })] });
  await service.owner.query('DROP TRIGGER refuse ON audit_events');
  expect(body.results).toMatchObject([{ status: 'rejected' }, { status: 'created' }]);
  const { rows } = await service.owner.query(
    "SELECT reason FROM audit_events WHERE reason IN ('Ticket 4712', 'Ticket 4713')",
  );
  expect(rows).toEqual([{ reason: 'Ticket 4713' }]);
});
