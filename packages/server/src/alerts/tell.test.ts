import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import {
  type AlertCalls,
  alertCalls,
  type WatchedTenant,
  watchedTenant,
} from '../testing/alert-setup.ts';
import { keyOf } from '../testing/restore-setup.ts';
import { type TestService, testService } from '../testing/service.ts';
import { startSmtpServer } from '../testing/smtp-server.ts';
import { webhookReceiver } from '../testing/webhook-receiver.ts';
import { webhookCalls } from '../testing/webhook-setup.ts';
import { minuteMs } from './evaluate.ts';

let smtp: Awaited<ReturnType<typeof startSmtpServer>>;
let service: TestService;
let tenant: WatchedTenant;
let alerts: AlertCalls;

beforeAll(async () => {
  smtp = await startSmtpServer();
  service = await testService({ SMTP_URL: smtp.url, WEBHOOK_ALLOW_PRIVATE: 'true' });
});
beforeEach(async () => {
  tenant = await watchedTenant(service);
  alerts = alertCalls(service, tenant);
});
afterAll(async () => {
  await service.close();
  await smtp.close();
});

test('the first alert is mailed at once, further ones of ten minutes together, without event texts', async () => {
  const emails = ['ops@example.com'];
  const { id } = await alerts.create({ name: 'Published a menu', notify: { emails } });
  const evaluate = async () => {
    await alerts.evaluate();
    await service.app.jobs.tick('alert-mail');
    return smtp.received.length;
  };
  await alerts.record({});
  expect(await evaluate()).toBe(1);
  service.clock.now += 4 * minuteMs;
  await alerts.record({}, {});
  expect(await evaluate()).toBe(1);
  service.clock.now += 6 * minuteMs;
  expect(await evaluate()).toBe(2);
  const [first, second] = smtp.received;
  expect([first?.to, first?.parsed.subject]).toEqual([emails, 'Alert from your audit log']);
  expect(first?.parsed.text).toContain('Published a menu');
  expect(first?.parsed.text).toContain(`resource=alert&resource_id=${id}`);
  expect(first?.parsed.text).not.toContain('Support');
  expect(second?.parsed.text).toContain('Alerts since the last message: 2');
});

test('webhooks with the type are told of alerts, those that the rule names or all', async () => {
  const receivers = [await webhookReceiver(), await webhookReceiver()] as const;
  onTestFinished(() => Promise.all(receivers.map((each) => each.close())).then(() => {}));
  const key = await keyOf(service, tenant.id, ['events:read', 'webhooks:write']);
  const types = ['audit.alert.raised'];
  const hooks = receivers.map((receiver) => webhookCalls(service, { ...tenant, key, receiver }));
  const made = await Promise.all(hooks.map((each) => each.create({ types })));
  const all = await alerts.create();
  const one = await alerts.create({
    ...{ name: 'Only one', filters: { action: 'delete' } },
    notify: { emails: [], webhookIds: [made[0]?.id] },
  });
  await alerts.record({}, { action: 'delete' });
  await alerts.evaluate();
  await service.app.webhooks.tick();
  const told = receivers.map(({ calls }) =>
    calls.map(({ body }) => [body.type, body.data.alerts.ruleId, body.data.alerts.count]),
  );
  const message = ({ id }: { id: string }) => ['audit.alert.raised', id, 1];
  expect(told[0]?.toSorted()).toEqual([message(all), message(one)].toSorted());
  expect(told[1]).toEqual([message(all)]);
  const raised = await alerts.log();
  const [call] = receivers[1].calls;
  expect(call?.body.data.alerts).toMatchObject({ ids: [raised[0].id], ruleName: 'Published' });
});
