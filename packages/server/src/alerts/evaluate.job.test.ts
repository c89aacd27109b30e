import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  type AlertCalls,
  alertCalls,
  type WatchedTenant,
  watchedTenant,
} from '../testing/alert-setup.ts';
import { expectLogIntact } from '../testing/intact.ts';
import { type TestService, testService } from '../testing/service.ts';

let service: TestService;
let tenant: WatchedTenant;
let alerts: AlertCalls;

beforeAll(async () => {
  service = await testService();
});
beforeEach(async () => {
  service.clock.now += 1_000;
  tenant = await watchedTenant(service);
  alerts = alertCalls(service, tenant);
});
afterEach(() => expectLogIntact(service, tenant.id));
afterAll(() => service.close());

test('an event that matches raises one alert, in the log, which names rule and event', async () => {
  await alerts.record({});
  const rule = await alerts.create();
  const [, other, hit] = await alerts.record({ action: 'update' }, { action: 'delete' }, {});
  await alerts.evaluate();
  await alerts.evaluate();
  const [alert, ...more] = await alerts.log();
  expect(more).toEqual([]);
  expect(alert).toMatchObject({
    actor: { role: 'system' },
    resource: { type: 'alert', id: rule.id, name: 'Published' },
    recordedBy: { kind: 'service' },
    after: { ruleVersion: 1, kind: 'match', sequences: [hit?.sequence], events: [hit?.id] },
  });
  expect(other?.sequence).toBeLessThan(alert.sequence);
});
