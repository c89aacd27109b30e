import { hash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeEntry, type EntryVersion, encodeEntry, entryBytes, type LogEntry } from './entry.ts';
import { leafHash } from './merkle.ts';

const sha = (data: Uint8Array) => new Uint8Array(hash('sha256', data, 'buffer'));
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
const unhex = (text: string) => new Uint8Array(Buffer.from(text, 'hex'));

// Made by another program, in another language, from the format's description alone.
const entry: LogEntry = {
  receivedAtUs: 1_756_893_600_123_456,
  eventUuid: '01990f04-d97b-7abc-8def-0123456789ab',
  version: 1,
  commitment: unhex('446b6f1cfe2c1e0e147526c743e6d3b3fc4973229e151cee9fefb7c4ad00d144'),
};
const written =
  '01000000' +
  '00063de2aaf18a40' +
  '01990f04d97b7abc8def0123456789ab' +
  '446b6f1cfe2c1e0e147526c743e6d3b3fc4973229e151cee9fefb7c4ad00d144';

test('an entry of version 1 is these 60 bytes for ever, and its leaf hash follows', () => {
  expect(entryBytes).toBe(60);
  expect(hex(encodeEntry(entry))).toBe(written);
  expect(hex(leafHash(sha, unhex(written)))).toBe(
    '409436b1e24759f6abd206beeef069a80fcc447c8edcabd5cf752661cd3e6684',
  );
});

test('an entry of version 2 differs in its first byte', () => {
  expect(hex(encodeEntry({ ...entry, version: 2 }))).toBe(written.replace('01', '02'));
});

test('an encoded value is decoded again, up to the last safe microsecond', () => {
  const times = fc.oneof(
    fc.maxSafeNat(),
    fc.constantFrom(0, 2 ** 32 - 1, 2 ** 32, Number.MAX_SAFE_INTEGER),
  );
  const versions = fc.constantFrom<EntryVersion>(1, 2);
  const commitments = fc.uint8Array({ minLength: 32, maxLength: 32 });
  fc.assert(
    fc.property(
      versions,
      times,
      fc.uuid(),
      commitments,
      (version, receivedAtUs, eventUuid, commitment) => {
        const bytes = encodeEntry({ version, receivedAtUs, eventUuid, commitment });
        expect(bytes.length).toBe(entryBytes);
        expect(decodeEntry(bytes)).toEqual({ version, receivedAtUs, eventUuid, commitment });
      },
    ),
  );
});

test('an entry is read where it lies within a larger buffer', () => {
  const tile = new Uint8Array(3 * entryBytes);
  tile.set(unhex(written), entryBytes);
  expect(decodeEntry(tile.subarray(entryBytes, 2 * entryBytes))).toEqual(entry);
});

test('another length, another version and anything in the three zero bytes are refused', () => {
  const bytes = unhex(written);
  expect(() => decodeEntry(bytes.subarray(0, 59))).toThrow(RangeError);
  expect(() => decodeEntry(new Uint8Array([...bytes, 0]))).toThrow(RangeError);
  expect(() => decodeEntry(new Uint8Array())).toThrow(RangeError);
  for (const [at, value] of [
    [0, 0],
    [0, 3],
    [1, 1],
    [2, 1],
    [3, 255],
  ] as const) {
    const spoilt = unhex(written);
    spoilt[at] = value;
    expect(() => decodeEntry(spoilt), `byte ${at} = ${value}`).toThrow(RangeError);
  }
});

test('the case in which an event id is written does not change the entry', () => {
  const upper = { ...entry, eventUuid: entry.eventUuid.toUpperCase() };
  expect(hex(encodeEntry(upper))).toBe(written);
});
