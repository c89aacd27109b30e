import { randomUUID } from 'node:crypto';
import { eventIdFromUuid, eventUuid } from '@indelible/protocol';
import { outcomesOf } from '@indelible/testing/answers';
import { expectLogIntact } from '@indelible/testing/intact';
import { turnsOf } from '@indelible/testing/longest-turn';
import { recordingService } from '@indelible/testing/recording';
import { actorWith, eventOf, platformKey } from '@indelible/testing/service';
import { expect, test } from 'vitest';

const { service, tenant, recordBatch } = await recordingService();
const { clock } = service;
clock.now = Date.UTC(2026, 5, 15, 10, 30);
const newId = () =>
  eventIdFromUuid(eventUuid(clock.now, crypto.getRandomValues(new Uint8Array(10))));

const batchRaw = (raw: string) =>
  service.call({
    method: 'POST',
    url: '/api/audit-logs/batch',
    key: tenant.key,
    raw,
    headers: { 'content-type': 'application/json' },
  });

/** Sequence and reason of every stored event that was not recorded by the service itself, by id. */
async function storedOf(
  tenantId = tenant.id,
): Promise<Map<string, { sequence: number; reason: string }>> {
  const { rows } = await service.owner.query(
    `SELECT id, sequence::int, reason FROM audit_events
     WHERE tenant_id = $1 AND recorded_by_kind = 'api_key' ORDER BY sequence`,
    [tenantId],
  );
  return new Map(rows.map(({ id, ...row }) => [eventIdFromUuid(id), row]));
}

const statusesOf = (results: { status: string }[]) => results.map(({ status }) => status);

test('a batch of good events is stored in its order, without gaps', async () => {
  const { status, body } = await recordBatch(
    Array.from({ length: 20 }, (_, at) => eventOf({ reason: `r${at}` })),
  );
  expect(status).toBe(200);
  expect(body.results).toEqual(
    Array.from({ length: 20 }, (_, at) => ({
      index: at,
      status: 'created',
      sequence: at + 2,
      warnings: [],
      warningPaths: {},
      id: expect.stringMatching(/^evt_audit_/),
    })),
  );
  const stored = [...(await storedOf()).entries()];
  expect(stored).toEqual(
    body.results.map(({ id, sequence }: { id: string; sequence: number }, at: number) => [
      id,
      { sequence, reason: `r${at}` },
    ]),
  );
});

test('created, repeated and refused events of one batch are told apart, and agree with the table row by row', async () => {
  const [stored, twice] = [newId(), newId()];
  await recordBatch([eventOf({ id: stored, reason: 'first' })]);
  const events = [
    eventOf({ reason: 'a' }),
    eventOf({ id: stored, reason: 'first' }),
    eventOf({ id: stored, reason: 'changed' }),
    eventOf({ id: twice, reason: 'b' }),
    eventOf({ id: twice, reason: 'b' }),
    eventOf({ id: twice, reason: 'c' }),
    eventOf({ action: 'Not Snake' }),
    eventOf({ action: 'heartbeat' }),
    eventOf({ tenantId: randomUUID() }),
    eventOf({ timestamp: new Date(clock.now + 3_600_000).toISOString() }),
    eventOf({ timestamp: '2001-01-01' }),
    null,
    [],
    'event',
    eventOf({ reason: 'd', actor: actorWith({ role: 'superadmin', email: null }) }),
  ];
  const { status, body } = await recordBatch(events);
  expect(status).toBe(200);
  expect(body.results.map(({ index }: { index: number }) => index)).toEqual([...events.keys()]);
  expect(outcomesOf({ body })).toEqual([
    ...['created', 'duplicate', 'id_conflict', 'created', 'duplicate', 'id_conflict'],
    ...['validation_failed', 'not_recordable', 'forbidden', 'timestamp_in_future'],
    ...['outside_retention', 'validation_failed', 'validation_failed', 'validation_failed'],
    'created',
  ]);
  expect(body.results[14].warnings).toEqual(['operator_email_missing']);
  const rows = await storedOf();
  for (const { status, id, sequence, index } of body.results) {
    if (status === 'rejected') continue;
    expect(rows.get(id)?.sequence, `result ${index}`).toBe(sequence);
    expect(rows.get(id)?.reason, `result ${index}`).toBe(
      (events[index] as { reason: string }).reason,
    );
  }
  expect([...rows.values()].map(({ reason }) => reason)).toEqual(['first', 'a', 'b', 'd']);
});

test('every field error of every event is listed, with paths into that event', async () => {
  const { body } = await recordBatch([
    eventOf({ action: '', diff: { a: { from: 1 } } }),
    eventOf(),
    { actor: {} },
  ]);
  const paths = body.results.map((result: { error?: { errors: { path: string }[] } }) =>
    result.error?.errors.map(({ path }) => path).sort(),
  );
  expect(paths).toEqual([
    ['/action', '/diff/a/to'],
    undefined,
    ['/action', '/actor/id', '/actor/role', '/resource'],
  ]);
});

test('a member named twice fails its own event alone, at any depth', async () => {
  const good = JSON.stringify(eventOf({ reason: 'good' }));
  const top = good.replace('"action":', '"action":"create","action":');
  const deep = JSON.stringify(eventOf({ after: { a: [{ x: 1 }] } })).replace(
    '"x":1',
    '"x":1,"x":2',
  );
  const escaped = good.replace('"action":', '"acti\\u006fn":"create","action":');
  const { body } = await batchRaw(`{"events":[${[good, top, deep, escaped, good].join()}]}`);
  expect(statusesOf(body.results)).toEqual([
    'created',
    'rejected',
    'rejected',
    'rejected',
    'created',
  ]);
  expect(body.results.slice(1, 4).map(({ error }: { error: unknown }) => error)).toEqual(
    ['/action', '/after/a/0/x', '/action'].map((path) => ({
      code: 'validation_failed',
      detail: 'the event repeats a member',
      errors: [{ path, code: 'duplicate_key', message: 'appears twice' }],
    })),
  );
  expect((await storedOf()).size).toBe(2);
});

test('event 1 is not blamed for event 10: a repeated member is its own', async () => {
  const good = JSON.stringify(eventOf());
  const events = Array.from({ length: 12 }, () => good);
  events[10] = good.replace('"action":', '"action":"create","action":');
  const { body } = await batchRaw(`{"events":[${events.join()}]}`);
  const refused = body.results.filter(({ status }: { status: string }) => status === 'rejected');
  expect(refused.map(({ index }: { index: number }) => index)).toEqual([10]);
});

test('an envelope that is wrong refuses the whole batch, and says everything that is', async () => {
  const good = JSON.stringify(eventOf());
  const cases: [raw: string, errors: string[]][] = [
    ['{}', ['/events required']],
    ['{"events":[]}', ['/events too_few']],
    ['{"events":{"0":1}}', ['/events invalid_type']],
    ['{"events":null}', ['/events invalid_type']],
    ['null', ['/events required']],
    [`[${good}]`, ['/events required']],
    [
      good,
      [
        '/events required',
        ...['/actor', '/action', '/resource', '/diff'].map((p) => `${p} unknown_field`),
      ],
    ],
    [`{"events":[${good}],"dry/run":true}`, ['/dry~1run unknown_field']],
    [`{"events":[${good}],"__proto__":{}}`, ['/__proto__ unknown_field']],
    [`{"events":[${good}],"events":[${good}]}`, ['/events duplicate_key']],
    [`{"events":[${good}],"x":{"a":1,"a":2}}`, ['/x unknown_field']],
  ];
  for (const [raw, errors] of cases) {
    const { status, body } = await batchRaw(raw);
    expect([status, body.code], raw).toEqual([422, 'validation_failed']);
    expect(
      body.errors.map(({ path, code }: { path: string; code: string }) => `${path} ${code}`),
      raw,
    ).toEqual(errors);
  }
  expect((await storedOf()).size).toBe(0);
});

test('1,000 events are a batch, 1,001 are too many and none of them is stored', async () => {
  const events = Array.from({ length: 1_001 }, () => eventOf());
  const most = await recordBatch(events.slice(1));
  expect(statusesOf(most.body.results)).toEqual(Array(1_000).fill('created'));
  const more = await recordBatch(events);
  expect([more.status, more.body.errors[0]]).toMatchObject([
    422,
    { path: '/events', code: 'too_many' },
  ]);
  expect((await storedOf()).size).toBe(1_000);
});

test('a batch may be sent again: nothing is added, and the answers name the same places', async () => {
  const events = Array.from({ length: 300 }, (_, at) => eventOf({ id: newId(), reason: `${at}` }));
  const first = await recordBatch(events);
  const again = await recordBatch(events);
  expect(statusesOf(again.body.results)).toEqual(Array(300).fill('duplicate'));
  const factsOf = (results: Record<string, unknown>[]) =>
    results.map(({ status: _, ...facts }) => facts);
  expect(factsOf(again.body.results)).toEqual(factsOf(first.body.results));
  const mixed = await recordBatch([...events.slice(0, 5), eventOf({ id: newId() })]);
  expect(statusesOf(mixed.body.results)).toEqual([...Array(5).fill('duplicate'), 'created']);
});

test('the same batch sent by four callers at once is stored once', async () => {
  const events = Array.from({ length: 100 }, () => eventOf({ id: newId() }));
  const answers = await Promise.all(Array.from({ length: 4 }, () => recordBatch(events)));
  for (const at of events.keys()) {
    const results = answers.map(({ body }) => body.results[at]);
    expect(statusesOf(results).sort()).toEqual(['created', ...Array(3).fill('duplicate')]);
    expect(new Set(results.map(({ sequence }) => sequence)).size).toBe(1);
  }
  expect((await storedOf()).size).toBe(100);
});

test('a platform key may record for several tenants in one batch; an unknown one fails its events alone', async () => {
  const other = await service.tenant('Starter');
  const { body } = await recordBatch(
    [
      eventOf({ tenantId: tenant.id, reason: 'one' }),
      eventOf({ tenantId: other.id, reason: 'other' }),
      eventOf({ tenantId: randomUUID() }),
      eventOf(),
      eventOf({ tenantId: tenant.id, reason: 'one more' }),
      eventOf({ tenantId: other.id, timestamp: '2025-01-01' }),
      eventOf({ tenantId: tenant.id, timestamp: '2025-01-01', reason: 'long ago' }),
    ],
    platformKey,
  );
  expect(outcomesOf({ body })).toEqual([
    ...['created', 'created', 'unknown_tenant', 'validation_failed', 'created'],
    ...['outside_retention', 'created'],
  ]);
  const reasons = async (tenantId: string) =>
    [...(await storedOf(tenantId)).values()].map(({ reason }) => reason);
  expect(await reasons(tenant.id)).toEqual(['one', 'one more', 'long ago']);
  expect(await reasons(other.id)).toEqual(['other']);
  await expectLogIntact(service, other.id);
});

test('a batch whose computed diffs outgrow it a hundredfold is recorded all the same', async () => {
  const before = { ['k'.repeat(1_000)]: Array.from({ length: 500 }, (_, at) => at) };
  // Diffs of 20 MiB: more than one part of the batch, and more than one flush, may hold.
  const events = Array.from({ length: 40 }, () => ({ ...eventOf({ before }), diff: undefined }));
  const { body } = await recordBatch(events);
  expect(statusesOf(body.results)).toEqual(Array(40).fill('created'));
  const sequences = body.results.map(({ sequence }: { sequence: number }) => sequence);
  expect(sequences).toEqual(Array.from({ length: 40 }, (_, at) => at + 2));
});

test('between the events of a batch that take long, other requests are answered', async () => {
  // The letter stands for four words: a name of 80,000 is folded to 1.4 million characters.
  const events = Array.from({ length: 10 }, () => eventOf({ after: { ['ﷺ'.repeat(80_000)]: 1 } }));
  const { total, longest } = await turnsOf(async () => {
    const { body } = await recordBatch(events);
    expect(new Set(statusesOf(body.results))).toEqual(new Set(['created']));
  });
  expect(longest).toBeLessThan(total / 2);
});

test('nearly a thousand bad events with the longest paths do not become a huge answer', async () => {
  const fields = Array.from({ length: 50 }, (_, at) => 'p'.repeat(150) + at);
  const diff = Object.fromEntries(fields.map((field) => [field, { from: {}, to: null }]));
  const events = [...Array.from({ length: 850 }, () => eventOf({ diff })), eventOf()];
  const { status, text, body } = await recordBatch(events);
  expect(status, text.slice(0, 300)).toBe(200);
  expect(statusesOf(body.results)).toEqual([...Array(850).fill('rejected'), 'created']);
  for (const { error } of body.results.slice(0, 850)) {
    expect(error.errors[0].path).toMatch(/^\/diff\/p{150}/);
  }
  expect(text.length).toBeLessThan(4 * 2 ** 20);
});

test('no event with a repeated member is ever recorded, however many it has', async () => {
  const good = JSON.stringify(eventOf());
  const once = good.replace('"action":', '"action":"create","action":');
  const often = good.replace('"action":', '"action":"create",'.repeat(60).concat('"action":'));
  for (const bad of [once, often]) {
    const events = [...Array.from({ length: 60 }, () => bad), good];
    const { body } = await batchRaw(`{"events":[${events.join()}]}`);
    expect(statusesOf(body.results)).toEqual([...Array(60).fill('rejected'), 'created']);
  }
});

test('a batch of which no event is stored answers 422 with its results, until one is', async () => {
  const id = newId();
  const wrong = eventOf({ action: 'Not Snake' });
  const none = await recordBatch([wrong, eventOf({ action: 'heartbeat' })]);
  expect([none.status, statusesOf(none.body.results)]).toEqual([422, ['rejected', 'rejected']]);
  expect((await recordBatch([wrong, eventOf({ id })])).status).toBe(200);
  const repeated = await recordBatch([wrong, eventOf({ id })]);
  expect([repeated.status, statusesOf(repeated.body.results)]).toEqual([
    200,
    ['rejected', 'duplicate'],
  ]);
});

test('a list sent as one event, and an event sent as a batch, are told where to go', async () => {
  const send = async (path: string, body: unknown) => {
    const url = `/api/audit-logs${path}`;
    const answer = await service.call({ method: 'POST', url, key: tenant.key, body });
    return [answer.status, answer.body.detail];
  };
  const toBatch = [422, expect.stringContaining('to /api/audit-logs/batch as {"events": […]}')];
  expect(await send('', [eventOf()])).toEqual(toBatch);
  expect(await send('', { events: [eventOf()] })).toEqual(toBatch);
  const toSingle = [422, expect.stringContaining('a single event to /api/audit-logs')];
  expect(await send('/batch', [eventOf()])).toEqual(toSingle);
  expect(await send('/batch', eventOf())).toEqual(toSingle);
});
