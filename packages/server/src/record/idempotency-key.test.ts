import { recordingService } from '@indelible/testing/recording';
import { eventOf, platformKey } from '@indelible/testing/service';
import { expect, test } from 'vitest';

const { service, tenant, goOnWith, record, recordBatch } = await recordingService();
const timestamp = new Date(service.clock.now).toISOString();

const send = (
  key: string | string[],
  event: Record<string, unknown> = {},
  credential = tenant.key,
) =>
  service.call({
    method: 'POST',
    url: '/api/audit-logs',
    key: credential,
    body: eventOf(event),
    headers: { 'idempotency-key': key },
  });

test('a call repeated with its Idempotency-Key and timestamp is the same event, by either credential', async () => {
  const first = await send('order-4711', { timestamp });
  expect(first.status).toBe(201);
  expect(first.body.timestamp).toBe(timestamp);
  const again = await send('order-4711', { timestamp });
  expect([again.status, again.text]).toEqual([200, first.text]);
  const named = { timestamp, tenantId: tenant.id.toUpperCase() };
  expect((await send('order-4711', named, platformKey)).status).toBe(200);
  const other = await send('order-4711', { timestamp, reason: 'other' });
  expect([other.status, other.body.code]).toEqual([409, 'id_conflict']);
});

test('another key, another time or another tenant make another event', async () => {
  const first = await send('k', { timestamp });
  const later = new Date(service.clock.now + 1).toISOString();
  const others = [await send('K', { timestamp }), await send('k', { timestamp: later })];
  await goOnWith('Enterprise');
  others.push(await send('k', { timestamp }));
  expect(others.map(({ status }) => status)).toEqual([201, 201, 201]);
  expect(new Set([first, ...others].map(({ body }) => body.id)).size).toBe(4);
});

test('an id in the body is the id, whatever the Idempotency-Key', async () => {
  const { body } = await record();
  const { id } = (await send('k', { timestamp, actor: body.actor })).body;
  const again = await send('another', { id, actor: body.actor });
  expect([again.status, again.body.id]).toEqual([200, id]);
});

test.each<[string, string | string[], Record<string, unknown>, RegExp]>([
  ['no time in the body', 'k', {}, /needs a timestamp .* or send an id/],
  ['an empty key', '', { timestamp }, /1 to 255 characters/],
  ['256 characters', 'k'.repeat(256), { timestamp }, /1 to 255 characters/],
  ['two keys', ['a', 'b'], { timestamp }, /only once/],
])('an Idempotency-Key that cannot be honoured is refused: %s', async (_, key, event, sentence) => {
  const { status, body } = await send(key, event);
  expect([status, body.code]).toEqual([400, 'invalid_parameter']);
  expect(body.detail).toMatch(sentence);
  expect((await send('k'.repeat(255), { timestamp })).status).toBe(201);
});

test('another POST refuses the header that it would ignore, and a repeatable call takes it', async () => {
  const headers = { 'idempotency-key': 'k' };
  const batch = { method: 'POST', url: '/api/audit-logs/batch', headers } as const;
  const refused = await service.call({ ...batch, key: tenant.key, body: { events: [eventOf()] } });
  expect([refused.status, refused.body.code]).toEqual([400, 'invalid_parameter']);
  expect(refused.body.detail).toContain('each event has its own id');
  expect((await recordBatch([eventOf()])).body.results[0].status).toBe('created');
  const url = `/api/tenants/${tenant.id}`;
  const put = await service.call({ method: 'PUT', url, headers, body: { name: 'Renamed' } });
  expect(put.status).toBe(200);
});
