import { expect, test } from 'vitest';
import {
  createClient,
  type EventInput,
  type IndelibleClient,
  IndelibleError,
  newEventId,
  PartialBatchError,
} from '../index.ts';
import { type Answer, scriptedService } from '../testing/scripted-service.ts';

async function answering(...answers: Answer[]) {
  const service = await scriptedService(answers);
  const client = createClient({ url: service.url, key: 'idl_test', attempts: 1 });
  return { ...service, client };
}

const event = (name = 'Sales'): EventInput => ({
  actor: { id: '7f9c2ba4-e88f-4a1b-9c3d-1f2e3d4c5b6a', role: 'admin' },
  action: 'update',
  resource: { type: 'queue', id: '0b54a1de-6e0f-4c66-a24c-2c4f6f2c7a11', name },
});
const events = (count: number) => Array.from({ length: count }, (_, at) => event(String(at)));
const created = (count: number): Answer => ({
  body: { results: Array.from({ length: count }, (_, index) => ({ index, status: 'created' })) },
});
const sent = (body: string) => (JSON.parse(body) as { events: { id: string }[] }).events;

test('a long batch goes in calls of 1,000, and results keep the order and place of the events', async () => {
  const { client, received } = await answering(created(1_000), created(1_000), created(500));
  const results = await client.recordBatch(events(2_500));
  expect(results.map(({ index }) => index)).toEqual([...Array(2_500).keys()]);
  expect(received.map(({ body }) => sent(body).length)).toEqual([1_000, 1_000, 500]);
});

test('no call is larger than 8 MiB, and an event that fits into none is rejected alone', async () => {
  const { client, received } = await answering(created(13), created(7), created(1));
  const large = Array.from({ length: 20 }, () => event('ñ'.repeat(300_000)));
  const results = await client.recordBatch([...large, event('ñ'.repeat(4_200_000)), event()]);
  for (const { body } of received) expect(Buffer.byteLength(body)).toBeLessThanOrEqual(8 * 2 ** 20);
  expect(received.map(({ body }) => sent(body).length)).toEqual([13, 7, 1]);
  expect(results[20]).toMatchObject({ index: 20, error: { code: 'payload_too_large' } });
  expect(results[21]).toEqual({ index: 21, status: 'created' });
});

test('an event that is far too large is refused before its secrets are searched, and is no call', async () => {
  const { client, received } = await answering(created(1), created(1), { status: 503 });
  const members = Array.from({ length: 300_000 }, (_, n) => [
    `key ${n}`,
    { value: 'x'.repeat(40) },
  ]);
  const large = { ...event(), after: Object.fromEntries(members) };
  const before = process.cpuUsage();
  const tooLarge = { code: 'payload_too_large' };
  await expect(client.record(large)).rejects.toMatchObject({ status: 413, ...tooLarge });
  expect(received).toHaveLength(0);
  const results = await client.recordBatch([event(), large]);
  const { user, system } = process.cpuUsage(before);
  expect(user + system).toBeLessThan(1_500_000);
  expect(results).toMatchObject([{ status: 'created' }, { status: 'rejected', error: tooLarge }]);
  const broken = await client.recordBatch([event(), large, event(), large]).catch((cause) => cause);
  expect(broken).toMatchObject({ results: [{}, { error: tooLarge }], unsettled: [{}, {}] });
  expect(broken.unsettled[1]).toEqual({ ...large, id: expect.stringMatching(/^evt_audit_/) });
});

test('a batch that breaks in the middle says what is settled, and the rest can be sent again', async () => {
  const { client, received } = await answering(created(1_000), { status: 503 }, created(200));
  const error = await client.recordBatch(events(1_200)).catch((e: unknown) => e);
  if (!(error instanceof PartialBatchError)) throw error;
  expect(error.results).toHaveLength(1_000);
  expect(error.cause).toBeInstanceOf(IndelibleError);
  await client.recordBatch(error.unsettled);
  const [, tried, again] = received.map(({ body }) => sent(body).map(({ id }) => id));
  expect(again).toEqual(tried);
});

test('a batch whose first call fails is its error, and an empty one is no call', async () => {
  const { client, received } = await answering({ status: 503 });
  await expect(client.recordBatch([event()])).rejects.toThrow(IndelibleError);
  expect(await client.recordBatch([])).toEqual([]);
  expect(received).toHaveLength(1);
});

test('the id of the request that an event belongs to goes along, if there is one', async () => {
  const id = newEventId();
  const { client, received } = await answering({ body: { id } });
  await client.record({ ...event(), id }, { requestId: 'request-0001' });
  await client.record({ ...event(), id }, { requestId: 'a line\nbreak' });
  expect(received[0]?.headers['x-request-id']).toBe('request-0001');
  expect(received[1]?.headers['x-request-id']).toBeUndefined();
});

test.each<[string, Answer]>([
  ['nothing', { body: '' }],
  ['null', { body: 'null' }],
  ['a list', { body: [] }],
  ['that it is well', { body: { status: 'ok' } }],
  ['of another event', { body: { id: newEventId(), results: [] } }],
  ['of results that are none', { body: { results: [{}] } }],
  ['nothing, as to a removal', { status: 204, body: '' }],
])('no event counts as recorded when what answers says %s', async (_, answer) => {
  const { client } = await answering(answer);
  const calls = [client.record(event()), client.recordBatch([event()]), client.list().next()];
  const unexpected = { status: 'rejected', reason: { code: 'unexpected_answer' } };
  expect(await Promise.allSettled(calls)).toMatchObject([unexpected, unexpected, unexpected]);
});

test('every event of a batch leaves with an id and without secrets', async () => {
  const { client, received } = await answering(created(1));
  const recorder: Pick<IndelibleClient, 'recordBatch'> = client;
  await recorder.recordBatch([{ ...event(), after: { apiKey: 's3cret' } }]);
  expect(sent(received[0]?.body ?? '')[0]?.id).toMatch(/^evt_audit_/);
  expect(received[0]?.body).not.toContain('s3cret');
});

test('results that come with 422, because every event was refused, are returned like others', async () => {
  const result = { index: 0, status: 'rejected', error: { code: 'unknown_tenant', detail: 'no' } };
  const service = await scriptedService([{ status: 422, body: { results: [result] } }]);
  const client = createClient({ url: service.url, key: 'idl_test' });
  expect(await client.recordBatch([event()])).toEqual([result]);
});
