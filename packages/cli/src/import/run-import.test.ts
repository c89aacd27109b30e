import { createClient, UnreachableError } from '@indelible/client';
import { expect, test } from 'vitest';
import { type Answer, scriptedService } from '../../../client/src/testing/scripted-service.ts';
import { createSending } from './run-import.ts';
import type { LineRefusal, SourceEvent } from './source-line.ts';
import { newTally } from './tally.ts';

const tenantId = '6da45ac7-5db6-56fb-8c55-847471cb240c';

function eventOf(number: number): SourceEvent {
  const line = { number, bytes: Buffer.from(`${number}`), tooLong: false };
  return {
    line,
    tenantId,
    tenantName: tenantId,
    text: `{"id":${number}}`,
    source: null,
    isMoved: false,
    hasNumbersAsText: number === 2,
  };
}

const results = (...codes: string[]): Answer => ({
  body: {
    results: codes.map((code, index) =>
      ['created', 'duplicate'].includes(code)
        ? { index, status: code, warnings: [] }
        : { index, status: 'rejected', error: { code, detail: `is ${code}` } },
    ),
  },
});

/** Sends events 1 to `count` to a service with these answers. */
async function sending(count: number, answers: Answer[], plan: 'Pro' | null = 'Pro') {
  const service = await scriptedService(answers);
  const tally = newTally();
  const rejected: [number, LineRefusal][] = [];
  const send = createSending({
    client: createClient({ url: service.url, key: 'idl_test', attempts: 1 }),
    createTenants: plan,
    tally,
    reject: (event, refusal) => rejected.push([event.line.number, refusal]),
    signal: new AbortController().signal,
  });
  const done = send(Array.from({ length: count }, (_, index) => eventOf(index + 1)));
  return { done, tally, rejected, received: service.received };
}

const idsOf = (body: string) => JSON.parse(body).events.map(({ id }: { id: number }) => id);

test('an unknown tenant is created once, and only its events are sent again, in their order', async () => {
  const { done, tally, received } = await sending(4, [
    results('unknown_tenant', 'created', 'unknown_tenant', 'duplicate'),
    { body: {} },
    results('created', 'created'),
  ]);
  await done;
  expect(received.map(({ line }) => line)).toEqual([
    'POST /api/audit-logs/batch',
    `PUT /api/tenants/${tenantId}`,
    'POST /api/audit-logs/batch',
  ]);
  expect(JSON.parse(received[1]?.body ?? '')).toEqual({ name: 'Imported 6da45ac7', plan: 'Pro' });
  expect(idsOf(received[2]?.body ?? '')).toEqual([1, 3]);
  expect(tally).toMatchObject({ created: 3, duplicates: 1, tenantsCreated: 1 });
});

test('a tenant that is still unknown after it was created does not loop', async () => {
  const unknown = results('unknown_tenant');
  const { done, rejected, received } = await sending(1, [unknown, { body: {} }, unknown]);
  await done;
  expect(received).toHaveLength(3);
  expect(rejected).toEqual([[1, { code: 'unknown_tenant', reason: 'is unknown_tenant' }]]);
});

test('an import without a plan creates no tenant and rejects the lines', async () => {
  const { done, rejected, received } = await sending(
    2,
    [results('created', 'unknown_tenant')],
    null,
  );
  await done;
  expect(received).toHaveLength(1);
  expect(rejected.map(([line]) => line)).toEqual([2]);
});

test('events the service could not take just then are sent again until they are settled', async () => {
  const { done, tally, rejected, received } = await sending(3, [
    results('created', 'unavailable', 'unavailable'),
    results('unavailable', 'id_conflict'),
    results('created'),
  ]);
  await done;
  expect(received.map(({ body }) => idsOf(body))).toEqual([[1, 2, 3], [2, 3], [2]]);
  expect(tally).toMatchObject({ created: 2, duplicates: 0 });
  expect(rejected).toEqual([[3, { code: 'id_conflict', reason: 'is id_conflict' }]]);
});

test('a service that goes away is told as such, with nothing counted twice', async () => {
  const { done, tally } = await sending(2, [results('created', 'unavailable'), { hangUp: true }]);
  await expect(done).rejects.toThrow(UnreachableError);
  expect(tally).toMatchObject({ created: 1, duplicates: 0, rejected: 0 });
});

test('warnings are counted by their code', async () => {
  const result = { index: 0, status: 'created', warnings: ['truncated', 'secret_masked'] };
  const plain = { index: 1, status: 'created', warnings: [] };
  const { done, tally } = await sending(2, [{ body: { results: [result, plain] } }]);
  await done;
  expect([...tally.warnings]).toEqual([
    ['truncated', 1],
    ['secret_masked', 1],
    ['number_as_text', 1],
  ]);
});
