import { eventOf, testService } from '@indelible/testing/service';
import { hookedTenant } from '@indelible/testing/webhook-setup';
import { expect, onTestFinished, test } from 'vitest';
import { createClient, type EventInput, UnreachableError } from '../index.ts';
import { type Answer, scriptedService } from '../testing/scripted-service.ts';
import { verifyWebhook } from '../webhooks/index.ts';

async function answering(...answers: Answer[]) {
  const service = await scriptedService(answers);
  const { webhooks } = createClient({
    url: service.url,
    key: 'idl_test',
    tenantId: 't',
    reason: 'r',
  });
  return { ...service, webhooks };
}

test('each call of a webhook is the one of the API, with the operator headers', async () => {
  const page = { body: { data: [{ id: 'a' }], pagination: { nextCursor: null } } };
  const { webhooks, received } = await answering({}, {}, {}, {}, {}, {}, {}, {}, {}, {}, page);
  await webhooks.create({ url: 'https://x.example' });
  await webhooks.get('whk_1');
  await webhooks.update('whk_1', { name: 'y' });
  await webhooks.pause('whk_1');
  await webhooks.resume('whk_1');
  await webhooks.rotateSecret('whk_1');
  await webhooks.test('whk_1');
  await webhooks.replay('whk_1', 7);
  await webhooks.skip('whk_1', 9, 'too large');
  await webhooks.remove('a/b');
  for await (const { id } of webhooks.list()) expect(id).toBe('a');
  for await (const { id } of webhooks.deliveries('whk_1')) expect(id).toBe('a');
  expect(received.map(({ line, body }) => `${line} ${body}`.trim())).toEqual([
    'POST /api/webhooks {"url":"https://x.example"}',
    'GET /api/webhooks/whk_1',
    'PATCH /api/webhooks/whk_1 {"name":"y"}',
    'POST /api/webhooks/whk_1/pause',
    'POST /api/webhooks/whk_1/resume',
    'POST /api/webhooks/whk_1/secret',
    'POST /api/webhooks/whk_1/test',
    'POST /api/webhooks/whk_1/replay {"fromSequence":7}',
    'POST /api/webhooks/whk_1/skip {"toSequence":9,"reason":"too large"}',
    'DELETE /api/webhooks/a%2Fb',
    'GET /api/webhooks',
    'GET /api/webhooks/whk_1/deliveries',
  ]);
  for (const { headers } of received) {
    expect(headers).toMatchObject({ 'x-tenant-id': 't', 'x-access-reason': 'r' });
  }
});

test('an answer that shows a secret once, a test and a replay are never asked for twice', async () => {
  const { webhooks, received } = await answering({ hangUp: true });
  const calls = [
    () => webhooks.create({ url: 'https://x.example' }),
    () => webhooks.rotateSecret('whk_1'),
    () => webhooks.test('whk_1'),
    () => webhooks.replay('whk_1', 0),
  ];
  for (const call of calls) await expect(call()).rejects.toThrow(UnreachableError);
  expect(received).toHaveLength(calls.length);
});

test('a real service delivers the recorded event, and the receiver believes it with either secret', async () => {
  const service = await testService({ WEBHOOK_ALLOW_PRIVATE: 'true' });
  const { key, receiver } = await hookedTenant(service);
  onTestFinished(receiver.close);
  const url = await service.app.http.listen({ host: '127.0.0.1', port: 0 });
  const { webhooks, record } = createClient({ url, key });
  const {
    id,
    secret = '',
    ...made
  } = await webhooks.create({ url: receiver.url, name: 'SIEM', filters: { resource: ['queue'] } });
  const event = await record(eventOf() as unknown as EventInput);
  expect(await webhooks.test(id)).toMatchObject({ ok: true, status: 204 });
  const { secret: next } = await webhooks.rotateSecret(id);
  await service.app.webhooks.tick();
  expect(await webhooks.get(id)).toMatchObject({ name: 'SIEM', status: 'active', attempt: 0 });
  const messages = receiver.calls.map(({ raw, headers }) => verifyWebhook(raw, headers, secret));
  const [tested, told] = (await Promise.all(messages)).map(({ message }) => message);
  expect(tested).toMatchObject({ type: 'audit.webhook.test', data: { webhookId: id } });
  const sent = { id: event.id, sequence: event.sequence, diff: event.diff };
  expect(told).toMatchObject({ type: 'audit.events.recorded', data: { events: [sent] } });
  const [, last] = receiver.calls;
  await verifyWebhook(last?.raw ?? '', last?.headers ?? {}, next);
  const types: string[] = [];
  for await (const { type, status } of webhooks.deliveries(id)) types.push(`${type} ${status}`);
  expect(types).toEqual(['audit.events.recorded delivered', 'audit.webhook.test delivered']);
  expect((await webhooks.replay(id, 0)).nextSequence).toBeLessThan(made.nextSequence + 1);
  expect((await webhooks.pause(id)).pausedBecause).toBe('requested');
  expect((await webhooks.resume(id)).status).toBe('active');
  expect((await webhooks.update(id, { filters: { action: ['!view'] } })).filters.action).toEqual([
    '!view',
  ]);
  await webhooks.remove(id);
  for await (const left of webhooks.list()) throw new Error(`${left.id} is left`);
});
