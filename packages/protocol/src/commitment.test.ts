import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalize, type JsonObject } from './canonical.ts';
import {
  type CommittedEvent,
  commitmentOf,
  commitmentOfHashes,
  saltBytes,
  segmentHash,
  segmentNames,
  segmentTexts,
} from './commitment.ts';

const sha = (data: Uint8Array) => new Uint8Array(createHash('sha256').update(data).digest());
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

const event: CommittedEvent = {
  tenantId: 'aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee',
  uuid: '01990f04-d97b-7abc-8def-0123456789ab',
  actorId: '7f9c2ba4-e88f-4a1b-9c3d-1f2e3d4c5b6a',
  actorEmail: 'ana@example.com',
  actorRole: 'admin',
  actorIp: '203.0.113.7',
  actorUserAgent: null,
  action: 'update',
  resourceType: 'queue',
  resourceId: '11111111-2222-3333-4444-555555555555',
  resourceName: 'Support "1"\n',
  diff: '{"maxWait":{"from":30,"to":60}}',
  crossTenant: false,
  reason: 'Übergabe',
  category: 'configuration',
  recordedByKind: 'api_key',
  recordedById: '0b54a1de-6e0f-4c66-a24c-2c4f6f2c7a11',
  before: null,
  after: '{"a":1}',
};
const salts = Uint8Array.from({ length: 4 * saltBytes }, (_, at) => at);

test('the segments of entry version 1 and their commitment are frozen', () => {
  // Made by another program, in another language, from the format's description alone.
  expect(segmentTexts(event)).toEqual([
    '{"diff":{"maxWait":{"from":30,"to":60}},"reason":"Übergabe"}',
    '{"action":"update","actor":{"id":"7f9c2ba4-e88f-4a1b-9c3d-1f2e3d4c5b6a","role":"admin"},' +
      '"category":"configuration","crossTenant":false,"id":"evt_audit_01k47g9pbvfay8vvr14d2pf2db",' +
      '"recordedBy":{"id":"0b54a1de-6e0f-4c66-a24c-2c4f6f2c7a11","kind":"api_key"},' +
      '"resource":{"id":"11111111-2222-3333-4444-555555555555","type":"queue"},' +
      '"tenantId":"aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee","timestamp":"2025-09-03T10:00:00.123Z"}',
    '{"actor":{"email":"ana@example.com","ip":"203.0.113.7","userAgent":null},' +
      '"resource":{"name":"Support \\"1\\"\\n"}}',
    '{"after":{"a":1},"before":null}',
  ]);
  expect(hex(commitmentOf(sha, segmentTexts(event), salts))).toBe(
    '446b6f1cfe2c1e0e147526c743e6d3b3fc4973229e151cee9fefb7c4ad00d144',
  );
});

test('an event without states has three segments and another commitment', () => {
  const stateless = { ...event, after: null };
  expect(segmentTexts(stateless)).toEqual(segmentTexts(event).slice(0, 3));
  expect(hex(commitmentOf(sha, segmentTexts(stateless), salts.subarray(0, 3 * saltBytes)))).toBe(
    'a4a718484701dfa71e0c3379fcb6ec244e8f27a8d80827160c3ce2484d0dcb3d',
  );
});

const text = fc.string({ unit: 'grapheme' });
const eventArbitrary: fc.Arbitrary<CommittedEvent> = fc.record({
  tenantId: fc.uuid(),
  uuid: fc.uuid({ version: 7 }).map((uuid) => `0${uuid.slice(1)}`),
  actorId: fc.uuid(),
  actorEmail: fc.option(text),
  actorRole: text,
  actorIp: fc.option(text),
  actorUserAgent: fc.option(text),
  action: text,
  resourceType: text,
  resourceId: fc.uuid(),
  resourceName: fc.option(text),
  diff: fc.constantFrom('{}', '{"a":{"from":1,"to":"ü"}}'),
  crossTenant: fc.boolean(),
  reason: fc.option(text),
  category: text,
  recordedByKind: text,
  recordedById: fc.uuid(),
  before: fc.constantFrom(null, '{}', '{"x":[1]}'),
  after: fc.constantFrom(null, '{"y":"😀"}'),
});

test('every segment is the RFC 8785 text of its own JSON value, whatever the strings hold', () => {
  fc.assert(
    fc.property(eventArbitrary, (any) => {
      for (const segment of segmentTexts(any)) {
        expect(segment).toBe(canonicalize(JSON.parse(segment) as JsonObject));
      }
    }),
  );
});

test('a change of any column changes the commitment', () => {
  const original = hex(commitmentOf(sha, segmentTexts(event), salts));
  const others: Partial<CommittedEvent>[] = [
    { tenantId: 'aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeef' },
    { uuid: '01990f04-d97c-7abc-8def-0123456789ab' },
    { actorId: '7f9c2ba4-e88f-4a1b-9c3d-1f2e3d4c5b6b' },
    { actorEmail: null },
    { actorRole: 'superadmin' },
    { actorIp: null },
    { actorUserAgent: '' },
    { action: 'delete' },
    { resourceType: 'ivr' },
    { resourceId: '11111111-2222-3333-4444-555555555556' },
    { resourceName: 'Support "1"' },
    { diff: '{}' },
    { crossTenant: true },
    { reason: null },
    { category: 'security' },
    { recordedByKind: 'service' },
    { recordedById: '0b54a1de-6e0f-4c66-a24c-2c4f6f2c7a12' },
    { before: '{}' },
    { after: '{"a":2}' },
  ];
  expect(new Set(others.flatMap(Object.keys))).toEqual(new Set(Object.keys(event)));
  for (const change of others) {
    const texts = segmentTexts({ ...event, ...change });
    expect(hex(commitmentOf(sha, texts, salts)), JSON.stringify(change)).not.toBe(original);
  }
});

test('before and after, or two neighbouring texts, cannot be exchanged unnoticed', () => {
  const swapped = { ...event, before: event.after, after: event.before };
  expect(segmentTexts(swapped)).not.toEqual(segmentTexts(event));
  const [change = '', own = '', ...rest] = segmentTexts(event);
  expect(hex(commitmentOf(sha, [own, change, ...rest], salts))).not.toBe(
    hex(commitmentOf(sha, [change, own, ...rest], salts)),
  );
});

test('a segment can be withheld: its hash in its place gives the same commitment', () => {
  const texts = segmentTexts(event);
  const hashes = texts.map((each, at) =>
    segmentHash(sha, at, salts.subarray(at * saltBytes, (at + 1) * saltBytes), each),
  );
  expect(hex(commitmentOfHashes(sha, hashes))).toBe(hex(commitmentOf(sha, texts, salts)));
});

test('the same text under another salt has another hash, so that guessing it proves nothing', () => {
  const [change = ''] = segmentTexts(event);
  const one = segmentHash(sha, 0, salts.subarray(0, saltBytes), change);
  const other = segmentHash(sha, 0, salts.subarray(1, 1 + saltBytes), change);
  expect(hex(one)).not.toBe(hex(other));
});

test('a segment hash covers the whole UTF-8 text, however many bytes its characters take', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.nat(3), (any, index) => {
      const salt = salts.subarray(0, saltBytes);
      const name = segmentNames[index] ?? '';
      const written = Buffer.concat([
        Buffer.from('audit-seg/v1\n'),
        Buffer.of(name.length),
        Buffer.from(name),
        salt,
        Buffer.from(any),
      ]);
      expect(hex(segmentHash(sha, index, salt, any))).toBe(hex(sha(written)));
    }),
  );
});

test('there are four segments, and no fifth is hashed', () => {
  expect(segmentNames).toEqual(['change', 'event', 'identity', 'state']);
  expect(() => segmentHash(sha, 4, salts.subarray(0, saltBytes), '{}')).toThrow(RangeError);
  const hashes = Array.from({ length: 5 }, () => new Uint8Array(32));
  expect(() => commitmentOfHashes(sha, hashes)).toThrow(RangeError);
});
