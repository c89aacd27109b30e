import { textArbitrary } from '@indelible/testing/arbitraries';
import fc from 'fast-check';
import pg from 'pg';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { anyCharacter } from '../../../protocol/src/testing/any-character.ts';
import { byteaArray, int2Array, int8Array, jsonArray, textArray, uuidArray } from './pg-arrays.ts';

const client = new pg.Client({
  connectionString: inject('postgres').servingUrl,
  options: '-c timezone=UTC',
});
beforeAll(() => client.connect());
afterAll(() => client.end());

/** Sends an array in binary and reads its elements back as text, in their order. */
async function roundTrip(array: Buffer, type: string, shown = 'value::text'): Promise<unknown[]> {
  const { rows } = await client.query<{ shown: unknown }>(
    `SELECT ${shown} AS shown FROM unnest($1::${type}[]) WITH ORDINALITY AS u (value, n) ORDER BY n`,
    [array],
  );
  return rows.map((row) => row.shown);
}

/** Every array of these values comes back as it was sent; the empty one and long ones too. */
async function expectRoundTrips<T>(
  value: fc.Arbitrary<T>,
  encode: (values: T[]) => Buffer,
  type: string,
  asText: (value: T) => string | null,
  shown?: string,
): Promise<void> {
  const arrays = fc.array(value, { maxLength: 12, size: 'max' });
  await fc.assert(
    fc.asyncProperty(arrays, async (values) => {
      expect(await roundTrip(encode(values), type, shown)).toEqual(values.map(asText));
    }),
    { examples: [[[]]], numRuns: 60 },
  );
}

test('UUIDs reach PostgreSQL as they are, in lower case', () =>
  expectRoundTrips(
    fc.uuid().chain((uuid) => fc.constantFrom(uuid, uuid.toUpperCase())),
    uuidArray,
    'uuid',
    (uuid) => uuid.toLowerCase(),
  ));

test('small integers reach PostgreSQL as they are, up to both ends of their range', () =>
  expectRoundTrips(fc.integer({ min: -32_768, max: 32_767 }), int2Array, 'int2', String));

test('every safe integer reaches PostgreSQL as it is', () =>
  expectRoundTrips(
    fc.oneof(
      fc.maxSafeInteger(),
      fc.constantFrom(0, -1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, -(2 ** 32), -(2 ** 32) - 1),
      fc.constantFrom(Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER),
    ),
    int8Array,
    'int8',
    String,
  ));

test('bytes reach PostgreSQL as they are, empty ones too', () =>
  expectRoundTrips(
    fc.uint8Array({ maxLength: 300 }),
    byteaArray,
    'bytea',
    (bytes) => Buffer.from(bytes).toString('hex'),
    "encode(value, 'hex')",
  ));

test('texts reach PostgreSQL as they are: empty, null, hostile and of every script', () =>
  expectRoundTrips(fc.option(textArbitrary(80), { nil: null }), textArray, 'text', (text) => text));

test('JSON reaches PostgreSQL as the very text that was hashed', () =>
  expectRoundTrips(
    fc.option(
      fc.json({ stringUnit: anyCharacter }).filter((text) => !text.includes('\\u0000')),
      { nil: null },
    ),
    jsonArray,
    'json',
    (text) => text,
  ));

test('five hundred elements of many bytes arrive whole', async () => {
  const texts = Array.from({ length: 500 }, (_, n) => '𝄞é'.repeat(n));
  expect(await roundTrip(textArray(texts), 'text')).toEqual(texts);
});

test('a lone surrogate never becomes bytes that are not UTF-8', async () => {
  expect(await roundTrip(textArray(['a\ud800b']), 'text')).toEqual(['a\ufffdb']);
});
