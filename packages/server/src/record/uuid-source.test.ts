import { randomBytes } from 'node:crypto';
import { eventIdFromUuid, uuidFromEventId, uuidTimeMs } from '@indelible/protocol';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createUuidSource } from './uuid-source.ts';

const random = (bytes: number) => new Uint8Array(randomBytes(bytes));
const noon = Date.UTC(2025, 8, 3, 12);

test('every id is a UUIDv7 whose millisecond is the moment asked for', () => {
  const newUuid = createUuidSource(random);
  fc.assert(
    fc.property(fc.nat({ max: 2 ** 48 - 1 }), (timeMs) => {
      const uuid = newUuid(timeMs);
      expect(uuidFromEventId(eventIdFromUuid(uuid))).toBe(uuid); // of version 7, as all ids of events
      expect(uuidTimeMs(uuid)).toBe(timeMs);
    }),
  );
});

test('4,096 ids of one millisecond sort in the order in which they were made', () => {
  const newUuid = createUuidSource(random);
  const made = Array.from({ length: 4_096 }, () => newUuid(noon));
  expect(made).toEqual([...made].sort());
  expect(new Set(made).size).toBe(made.length);
});

test('beyond 4,096 ids in a millisecond they stay unique, in it, and behind the first ones', () => {
  const newUuid = createUuidSource(random);
  const made = Array.from({ length: 6_000 }, () => newUuid(noon));
  expect(new Set(made).size).toBe(made.length);
  expect(made.every((uuid) => uuidTimeMs(uuid) === noon)).toBe(true);
  const before = made[4_094] ?? '';
  expect(made.slice(4_095).every((uuid) => uuid > before)).toBe(true);
});

test('two processes within one millisecond make different ids', () => {
  const one = createUuidSource(random);
  const other = createUuidSource(random);
  expect(one(noon)).not.toBe(other(noon));
});

test('the next id cannot be guessed: 62 bits of each id are random', () => {
  const newUuid = createUuidSource(random);
  const tails = Array.from({ length: 1_000 }, (_, ms) => newUuid(noon + ms).slice(19));
  expect(new Set(tails).size).toBe(tails.length);
});

test('ids of one past millisecond sort as they were made, also with others made in between', () => {
  const newUuid = createUuidSource(random);
  const made = Array.from({ length: 20 }, (_, n) => [newUuid(noon), newUuid(noon + 1 + n)]);
  const past = made.map(([uuid]) => uuid);
  expect(past).toEqual([...past].sort());
});
