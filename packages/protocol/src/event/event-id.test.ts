import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  eventIdFromUuid,
  eventUuid,
  firstUuidAt,
  importedEventUuid,
  isUuid,
  newEventIdAt,
  orderOfSourceId,
  typeId,
  uuidBytes,
  uuidFromBytes,
  uuidFromEventId,
  uuidFromTypeId,
  uuidTimeMaxMs,
  uuidTimeMs,
} from './event-id.ts';

const anyTime = fc.integer({ min: 0, max: uuidTimeMaxMs });
const tenBytes = fc.uint8Array({ minLength: 10, maxLength: 10 });

// From the TypeID specification, spec/valid.yml.
const published: [string, string][] = [
  ['00000000000000000000000000', '00000000-0000-0000-0000-000000000000'],
  ['00000000000000000000000001', '00000000-0000-0000-0000-000000000001'],
  ['0000000000000000000000000g', '00000000-0000-0000-0000-000000000010'],
  ['00000000000000000000000010', '00000000-0000-0000-0000-000000000020'],
  ['7zzzzzzzzzzzzzzzzzzzzzzzzz', 'ffffffff-ffff-ffff-ffff-ffffffffffff'],
  ['0123456789abcdefghjkmnpqrs', '0110c853-1d09-52d8-d73e-1194e95b5f19'],
  ['01h455vb4pex5vsknk084sn02q', '01890a5d-ac96-774b-bcce-b302099a8057'],
];

test.each(published)('the published TypeID %s is the UUID %s, both ways', (suffix, uuid) => {
  expect(typeId('prefix_', uuid)).toBe(`prefix_${suffix}`);
  expect(uuidFromTypeId('prefix_', `prefix_${suffix}`)).toBe(uuid);
});

test('any UUID survives text, bytes and TypeID, and comes back in lower case', () => {
  fc.assert(
    fc.property(fc.uuid(), fc.nat(20), (uuid, offset) => {
      const bytes = uuidBytes(uuid.toUpperCase(), new Uint8Array(40), offset);
      expect(uuidFromBytes(bytes, offset)).toBe(uuid);
      expect(Buffer.from(uuidBytes(uuid)).toString('hex')).toBe(uuid.replaceAll('-', ''));
      expect(uuidFromTypeId('srch_', typeId('srch_', uuid.toUpperCase()))).toBe(uuid);
    }),
  );
});

test('a text with a single other character than a digit or hyphen is no UUID', () => {
  const uuid = '0123abcd-ef45-6789-abcd-ef0123456789';
  const others = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code));
  fc.assert(
    fc.property(fc.nat(35), others, (at, other) => {
      const text = uuid.slice(0, at) + other + uuid.slice(at + 1);
      expect(isUuid(text)).toBe(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text));
    }),
    { numRuns: 2_000 },
  );
});

test('an event made at a moment has an id of the given form that carries that millisecond', () => {
  fc.assert(
    fc.property(anyTime, tenBytes, (timeMs, random) => {
      const uuid = eventUuid(timeMs, random);
      expect(newEventIdAt(timeMs, random)).toBe(eventIdFromUuid(uuid));
      expect(uuidTimeMs(uuid)).toBe(timeMs);
      const id = eventIdFromUuid(uuid);
      expect(id).toMatch(/^evt_audit_[0-7][0-9a-hjkmnp-tv-z]{25}$/);
      expect(uuidFromEventId(id)).toBe(uuid);
    }),
  );
});

test('ids and UUIDs of events sort by their time', () => {
  fc.assert(
    fc.property(anyTime, anyTime, tenBytes, tenBytes, (a, b, randomA, randomB) => {
      fc.pre(a < b);
      const [first, second] = [eventUuid(a, randomA), eventUuid(b, randomB)];
      expect(first < second).toBe(true);
      expect(eventIdFromUuid(first) < eventIdFromUuid(second)).toBe(true);
    }),
  );
});

test('all random bits but those of version and variant reach the UUID', () => {
  const ones = eventUuid(0, new Uint8Array(10).fill(255));
  expect(ones).toBe('00000000-0000-7fff-bfff-ffffffffffff');
  expect(eventUuid(0, new Uint8Array(10))).toBe('00000000-0000-7000-8000-000000000000');
});

const good = 'evt_audit_01h455vb4pex5vsknk084sn02q';
test.each([
  ['upper case', good.toUpperCase()],
  ['an upper-case suffix', `evt_audit_${good.slice(10).toUpperCase()}`],
  ['another prefix', good.replace('evt_audit_', 'evt_login_')],
  ['no prefix', good.slice(10)],
  ['a letter that Crockford leaves out', good.replace('5v', '5l')],
  ['a first character over 7', good.replace('_01h', '_81h')],
  ['a character too few', good.slice(0, -1)],
  ['a character too many', `${good}0`],
  ['a line break at the end', `${good}\n`],
  ['a character outside ASCII', good.replace('h', 'ħ')],
  ['a UUID of version 4', typeId('evt_audit_', '01890a5d-ac96-474b-bcce-b302099a8057')],
  ['a UUID of another variant', typeId('evt_audit_', '01890a5d-ac96-774b-ccce-b302099a8057')],
])('an event id with %s is refused', (_, id) => {
  expect(uuidFromEventId(good)).not.toBeNull();
  expect(uuidFromEventId(id)).toBeNull();
});

test('importing the same source event gives the same UUID, and order within a millisecond', () => {
  fc.assert(
    fc.property(anyTime, fc.nat(4094), tenBytes, tenBytes, (timeMs, order, hash, other) => {
      const uuid = importedEventUuid(timeMs, order, hash);
      expect(importedEventUuid(timeMs, order + 4096, hash)).toBe(uuid);
      expect(uuidFromEventId(eventIdFromUuid(uuid))).toBe(uuid);
      expect(uuidTimeMs(uuid)).toBe(timeMs);
      expect(uuid < importedEventUuid(timeMs, order + 1, other)).toBe(true);
    }),
  );
});

test('an import keeps 12 bits of order and 62 bits of hash', () => {
  const hash = Uint8Array.from([0xff, 1, 2, 3, 4, 5, 6, 7, 8]);
  expect(importedEventUuid(1, 0xabc, hash)).toBe('00000000-0001-7abc-bf01-020304050607');
});

test.each([
  ['INC0000045#2', 2],
  ['INC0000045', 45],
  ['4095', 4095],
  ['4096', 0],
  ['a-4097', 1],
  ['no digits', 0],
  ['', 0],
  ['7 ', 0],
  ['١', 0],
])('the order of the source id %j is %i', (sourceId, order) => {
  expect(orderOfSourceId(sourceId)).toBe(order);
});

test('the order of a source id with any number of digits is exact', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 60n }), (number) => {
      expect(orderOfSourceId(`event-${number}`)).toBe(Number(number % 4096n));
    }),
  );
});

test('the range bound of a millisecond precedes its every UUID and follows those before', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: uuidTimeMaxMs }), tenBytes, (timeMs, random) => {
      const bound = firstUuidAt(timeMs);
      expect(bound).toMatch(/^.{8}-.{4}-0000-0000-000000000000$/);
      expect(bound < eventUuid(timeMs, random)).toBe(true);
      expect(eventUuid(timeMs - 1, random) < bound).toBe(true);
    }),
  );
});

test('range bounds are clamped and rounded up, and NaN is refused', () => {
  expect(firstUuidAt(-5)).toBe('00000000-0000-0000-0000-000000000000');
  expect(firstUuidAt(Number.POSITIVE_INFINITY)).toBe('ffffffff-ffff-0000-0000-000000000000');
  expect(firstUuidAt(0.5)).toBe(firstUuidAt(1));
  expect(() => firstUuidAt(Number.NaN)).toThrow(RangeError);
});

test('a time that 48 bits do not hold, or too few bytes, are refused rather than wrapped', () => {
  const bytes = new Uint8Array(10);
  for (const timeMs of [-1, 0.5, uuidTimeMaxMs + 1, Number.NaN]) {
    expect(() => eventUuid(timeMs, bytes)).toThrow(RangeError);
    expect(() => importedEventUuid(timeMs, 0, bytes)).toThrow(RangeError);
  }
  expect(() => eventUuid(0, bytes.subarray(1))).toThrow(RangeError);
  expect(() => importedEventUuid(0, 0, bytes.subarray(3))).toThrow(RangeError);
  expect(() => importedEventUuid(0, -1, bytes)).toThrow(RangeError);
});

test('only 8-4-4-4-12 hexadecimal digits are a UUID, in either case', () => {
  const uuid = '6DA45AC7-5db6-56fb-8c55-847471cb240c';
  expect(isUuid(uuid)).toBe(true);
  for (const wrong of ['', `${uuid}0`, `${uuid}\n`, `{${uuid}}`, uuid.replaceAll('-', '')]) {
    expect(isUuid(wrong)).toBe(false);
    expect(() => uuidBytes(wrong)).toThrow(RangeError);
  }
  expect(isUuid(uuid.replace('6D', '6g'))).toBe(false);
  expect(() => uuidBytes(uuid, new Uint8Array(20), 5)).toThrow(RangeError);
  expect(() => uuidFromBytes(new Uint8Array(20), 5)).toThrow(RangeError);
});
