import { watchedService } from '@indelible/testing/alert-setup';
import { atEnd } from '@indelible/testing/at-end';
import { keyOf } from '@indelible/testing/restore-setup';
import { startSmtpServer } from '@indelible/testing/smtp-server';
import { webhookReceiver } from '@indelible/testing/webhook-receiver';
import { webhookCalls, webhooksUrl } from '@indelible/testing/webhook-setup';
import { expect, test } from 'vitest';
import { genericReceiver } from '../webhooks/format/testing/generic-receiver.ts';
import { startProducts } from '../webhooks/format/testing/products.ts';
import { slackReceiver } from '../webhooks/format/testing/slack-receiver.ts';
import { minuteMs } from './evaluate.ts';

const smtp = await startSmtpServer();
const { service, tenant, alerts } = await watchedService({
  SMTP_URL: smtp.url,
  WEBHOOK_ALLOW_PRIVATE: 'true',
});

const alertRaised = 'audit.alert.raised';
const hookScopes = ['events:read', 'webhooks:write'];

async function makeWebhook(body: object): Promise<void> {
  const key = await keyOf(service, tenant.id, hookScopes);
  const made = await service.call({ method: 'POST', url: webhooksUrl, key, body });
  expect(made.status, made.text).toBe(201);
}

test('the first alert is mailed at once, further ones of ten minutes together, without event texts', async () => {
  const emails = ['ops@example.com'];
  const settings = { notifyEmails: emails };
  await service.call({ method: 'PUT', url: `/api/tenants/${tenant.id}`, body: settings });
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
  expect(first?.parsed.text).toContain('“Published a menu”');
  expect(first?.parsed.text).toContain(`resource=alert&resource_id=${id}`);
  expect(first?.parsed.text).not.toContain('Support');
  expect(second?.parsed.text).toContain('Alerts since the last message: 2');
});

test('webhooks with the type are told of alerts, those that the rule names or all', async () => {
  const receivers = [await webhookReceiver(), await webhookReceiver()] as const;
  atEnd(() => Promise.all(receivers.map((each) => each.close())));
  const key = await keyOf(service, tenant.id, hookScopes);
  const types = [alertRaised];
  const hooks = receivers.map((receiver) => webhookCalls(service, { ...tenant, key, receiver }));
  const made = await Promise.all(hooks.map((each) => each.create({ types })));
  const all = await alerts.create();
  const one = await alerts.create({
    name: 'Only one',
    filters: { action: 'delete' },
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

test('chats and PagerDuty get one message about all alerts of a rule, in which a name is only text', async () => {
  const { slack, teams, duty, channels } = await startProducts(() => service.clock.now);
  for (const { format, receiver, credential } of channels) {
    await makeWebhook({ types: [alertRaised], format, url: receiver.url, credential });
  }
  const name = '<!channel> [x](https://evil.example) \u202e*x*';
  const { id } = await alerts.create({ name });
  await alerts.record({}, {});
  await alerts.evaluate();
  await alerts.record({});
  await alerts.evaluate();
  await service.app.webhooks.tick();
  const link = expect.stringContaining(`/events?resource=alert&resource_id=${id}`);
  const text = expect.stringMatching(/^Alert: “<!channel> [^\u202e]*”/);
  expect(slack.messages).toMatchObject([
    { title: '2 alerts in the audit log', lines: [text], links: [link], mentions: [] },
  ]);
  expect(teams.cards).toMatchObject([{ lines: [text], links: [link, link] }]);
  expect([...duty.incidents.values()]).toMatchObject([
    { summary: text, link, status: 'triggered', details: { alerts: '2' } },
  ]);
});

test('a chat that takes events too is told of an alert once; a collector gets the record as an event', async () => {
  const slack = await slackReceiver();
  const collectors = [await genericReceiver(), await genericReceiver()] as const;
  atEnd(() => Promise.all([slack, ...collectors].map((each) => each.close())));
  const both = { types: ['audit.events.recorded', alertRaised], filters: { resource: 'alert' } };
  await makeWebhook({ ...both, format: 'slack', url: slack.url, credential: slack.path });
  const [alone, also] = collectors;
  for (const each of collectors) each.authorization = null;
  await makeWebhook({ types: [alertRaised], format: 'generic', url: alone.url });
  await makeWebhook({ ...both, format: 'generic', url: also.url });
  const { id } = await alerts.create();
  await alerts.record({}, {});
  await alerts.evaluate();
  await service.app.webhooks.tick();
  expect(slack.messages.map(({ title }) => title)).toEqual(['2 alerts in the audit log']);
  const raised = (await alerts.log()).map((each: { id: string }) => each.id);
  const [told] = await alerts.log('notify');
  expect(alone.events).toMatchObject([
    { id: told.id, action: 'notify', resource: { type: 'alert', id }, after: { alerts: raised } },
  ]);
  expect(also.events).toMatchObject([...raised, told.id].map((each) => ({ id: each })));
});
