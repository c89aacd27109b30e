import { takeEvent, uuidFromEventId, uuidTimeMs } from '@indelible/protocol';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { takeContext } from '../../../protocol/src/testing/take-context.ts';
import { LineOrders } from './line-orders.ts';
import { type LineRefusal, type SourceEvent, takeLine } from './source-line.ts';

const tenantId = '6da45ac7-5db6-56fb-8c55-847471cb240c';
const event = {
  timestamp: '2025-08-10T01:23:00.000Z',
  tenantId,
  actor: { id: '2b14cb0d-1220-50df-837f-39bca5b3bca0', role: 'unknown' },
  action: 'create',
  resource: { type: 'incident', id: 'e4ddc849-a2ba-5644-a534-22f9ec165038' },
};

function take(value: unknown, tenantForAll: string | null = null) {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const bytes = Buffer.isBuffer(value) ? value : Buffer.from(text);
  return takeLine({ number: 1, bytes, tooLong: false }, { tenantForAll });
}

function taken(value: unknown, tenantDefault: string | null = null): SourceEvent {
  const result = take(value, tenantDefault);
  if ('refusal' in result) throw new Error(result.refusal.reason);
  return result.event;
}

function refused(value: unknown): LineRefusal {
  const result = take(value);
  if ('event' in result) throw new Error('was taken');
  return result.refusal;
}

const idOf = (value: unknown, tenantDefault: string | null = null): string =>
  JSON.parse(taken(value, tenantDefault).text).id;

test('a source id gives the published id, so that every release imports to the same ids', () => {
  const uuid = uuidFromEventId(idOf({ sourceId: 'INC0000045#2', ...event }));
  expect(uuid).toBe('01989192-e520-7002-93fa-7e32e12bd883');
});

test('an id is of the time, of the number its source id ends in, then of tenant and source id', () => {
  const uuid = uuidFromEventId(idOf({ ...event, sourceId: 'INC0000045#300' })) ?? '';
  expect(uuidTimeMs(uuid)).toBe(Date.parse(event.timestamp));
  expect(Number.parseInt(uuid.slice(15, 18), 16)).toBe(300);
  const other = idOf({ ...event, sourceId: 'INC0000045#300', tenantId: event.actor.id });
  expect(uuidFromEventId(other)?.slice(0, 18)).toBe(uuid.slice(0, 18));
  expect(uuidFromEventId(other)).not.toBe(uuid);
});

test('events of one minute keep the order of their source ids', () => {
  const ids = [1, 2, 3, 10, 200].map((n) => idOf({ ...event, sourceId: `INC1#${n}` }));
  expect([...ids].sort()).toEqual(ids);
});

test('lines of one second keep their order, whatever their source ids are or without any', () => {
  const orders = new LineOrders();
  const idIn = (value: object) => {
    const bytes = Buffer.from(JSON.stringify(value));
    const taken = takeLine({ number: 1, bytes, tooLong: false }, {}, orders);
    return 'event' in taken ? JSON.parse(taken.event.text).id : null;
  };
  const uuids = Array.from({ length: 20 }, (_, n) => `9c5b94b1-35ad-49bb-b118-8e8fc24a${n}f80`);
  const names = ['a7f', 'V1StGXR8_Z5jdHi6B', '1700000000.998877', 'b0f3:0004a3'];
  const others = [undefined, undefined, undefined];
  const lines = [...uuids, ...names, ...others].map((sourceId, n) => {
    return { ...event, sourceId, reason: `${n}` };
  });
  const ids = lines.map(idIn);
  expect([...ids].sort()).toEqual(ids);
  expect(lines.toReversed().map(idIn).reverse(), 'a repeated line is the same event').toEqual(ids);
});

test('a source id that counts gives one id, whatever lines stand before it', () => {
  const orders = new LineOrders();
  orders.of(tenantId, Date.parse(event.timestamp), new Uint8Array(8));
  for (const sourceId of ['7', 7, 'audit-1041', 'row12', 'INC0000045#2']) {
    const line = { number: 2, bytes: Buffer.from(JSON.stringify({ ...event, sourceId })) };
    const taken = takeLine({ ...line, tooLong: false }, {}, orders);
    expect('event' in taken && JSON.parse(taken.event.text).id).toBe(idOf({ ...event, sourceId }));
  }
});

test('equal lines without ids get equal ids, and different lines different ones', () => {
  const reordered = { ...Object.fromEntries(Object.entries(event).reverse()) };
  expect(idOf(reordered)).toBe(idOf(event));
  expect(idOf({ ...event, action: 'delete' })).not.toBe(idOf(event));
});

test('an id in the line is kept as it is, and a source id beside it only tells conflicts', () => {
  const id = 'evt_audit_01k2kqzs4qf3h9w5v0n7m2x8bc';
  const { text, source } = taken({ ...event, id, sourceId: 7, timestamp: undefined });
  expect(JSON.parse(text)).toEqual({ ...event, id, timestamp: undefined });
  expect(source?.id).toBe('7');
});

test('everything but the source id reaches the service with the value it had', () => {
  const scalar = fc.oneof(
    fc.string(),
    fc.boolean(),
    fc.integer(),
    fc.constant(null),
    fc.constant(0.1),
  );
  const states = fc.dictionary(fc.string(), fc.oneof(scalar, fc.array(scalar)));
  fc.assert(
    fc.property(states, (after) => {
      const line = JSON.stringify({ ...event, after, sourceId: 'x' });
      const sent = JSON.parse(taken(line).text);
      expect(sent).toEqual({ ...JSON.parse(line), id: sent.id, sourceId: undefined });
    }),
  );
});

test('every line is of the tenant named for all, also one that names another', () => {
  const { tenantId: _, ...bare } = event;
  expect(idOf(bare, tenantId)).toBe(idOf(event));
  const moved = taken({ ...event, sourceId: 'a' }, event.actor.id);
  expect([moved.tenantId, moved.isMoved]).toEqual([event.actor.id, true]);
  expect(JSON.parse(moved.text).tenantId).toBe(event.actor.id);
  expect(taken(event, tenantId).isMoved).toBe(false);
  expect(refused(bare).errors).toMatchObject([{ path: '/tenantId', code: 'required' }]);
});

test('the same tenant in capitals is the same tenant', () => {
  const capitals = { ...event, tenantId: tenantId.toUpperCase(), sourceId: 'a' };
  expect(idOf(capitals)).toBe(idOf({ ...event, sourceId: 'a' }));
  expect(taken(capitals).tenantId).toBe(tenantId);
});

test('contents are compared without their order, keys by tenant and source id', () => {
  const facts = (value: object) => taken(value).source ?? { key: null, content: null };
  const one = facts({ sourceId: 'a', ...event });
  expect(facts({ ...event, sourceId: 'a' })).toEqual(one);
  const other = facts({ ...event, sourceId: 'a', action: 'delete' });
  expect(other.key).toEqual(one.key);
  expect(other.content).not.toEqual(one.content);
  expect(facts({ ...event, sourceId: 'b' }).key).not.toEqual(one.key);
});

test('an unreadable moment leaves no id to be made, so the line is refused', () => {
  const { timestamp: _, ...timeless } = event;
  expect(refused(timeless).errors).toMatchObject([{ path: '/timestamp', code: 'required' }]);
  for (const timestamp of ['yesterday', 1_754_788_980_000, null, '2025-02-30T00:00:00Z']) {
    const { errors } = refused({ ...event, timestamp });
    expect(errors).toMatchObject([{ path: '/timestamp', code: 'invalid_format' }]);
  }
});

test('a source id that is no name is refused', () => {
  for (const sourceId of ['', true, {}, [], 1.5]) {
    const { errors } = refused({ ...event, sourceId });
    expect(errors).toMatchObject([{ path: '/sourceId' }]);
  }
});

test('broken JSON, text after it and anything but an object are refused with the reason', () => {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  for (const text of ['{', '{} {}', 'event', "{'a':1}", deep]) {
    expect(refused(text)).toMatchObject({ code: 'malformed_json' });
  }
  for (const text of ['[]', '"text"', 'null', '12']) {
    expect(refused(text)).toMatchObject({ code: 'validation_failed' });
  }
});

test('invalid UTF-8 is refused, never replaced', () => {
  const bytes = Buffer.from(JSON.stringify({ ...event, sourceId: 'a?b' }));
  bytes[bytes.indexOf('?')] = 0xff;
  expect(refused(bytes)).toMatchObject({ code: 'malformed_json', reason: /UTF-8/ });
});

test('a line whose value would change silently on its way is refused: repeated names', () => {
  const line = JSON.stringify(event).slice(0, -1);
  const { errors } = refused(`${line},"action":"delete"}`);
  expect(errors?.[0]).toMatchObject({ path: '/action', code: 'duplicate_key' });
});

test('values that no log can hold reach the service, which writes or drops them', () => {
  const line = JSON.stringify(event).slice(0, -1);
  const deep = `${'['.repeat(40)}${']'.repeat(40)}`;
  for (const member of [
    '"after":{"n":"\\ud800"}',
    '"reason":"a\\u0000b"',
    `"after":{"deep":${deep}}`,
    '"metadata":{"\\udc00":1}',
  ]) {
    const text = `${line},${member}}`;
    const sent = taken(text).text;
    const { id, ...members } = JSON.parse(sent);
    expect(members).toEqual(JSON.parse(text));
    expect(idOf(text)).toBe(id);
    const { event: stored } = takeEvent(JSON.parse(sent), takeContext({ boundTenantId: tenantId }));
    expect(stored?.uuid).toBe(uuidFromEventId(id));
  }
});

test('numbers that a double would change are kept as texts, and the line says so', () => {
  const line = JSON.stringify(event).slice(0, -1);
  const { text, hasNumbersAsText } = taken(
    `${line},"after":{"n":12345678901234567890,"m":1e-400}}`,
  );
  expect(JSON.parse(text).after).toEqual({ n: '12345678901234567890', m: '1e-400' });
  expect([hasNumbersAsText, taken(event).hasNumbersAsText]).toEqual([true, false]);
});

test('a line of an export is taken back as it was sent in', () => {
  const sent = { ...event, id: idOf(event), diff: {}, before: { a: 1 }, after: { a: 2 } };
  const added = {
    category: 'configuration',
    hasState: true,
    sequence: 7,
    receivedAt: '2025-08-10T01:23:01.000Z',
    recordedBy: { kind: 'service', id: tenantId },
  };
  expect(JSON.parse(taken({ ...sent, ...added }).text)).toEqual(sent);
  const { category, ...others } = added;
  expect(JSON.parse(taken({ ...sent, category }).text)).toHaveProperty('category');
  expect(JSON.parse(taken({ ...sent, ...others }).text)).toHaveProperty('sequence');
});
