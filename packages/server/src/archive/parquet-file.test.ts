import { rowsOf } from '@indelible/testing/parquet';
import fc from 'fast-check';
import { parquetMetadata } from 'hyparquet';
import { expect, test } from 'vitest';
import type { ArchivedRow } from './archived-row.ts';
import type { Column, Value } from './columns.ts';
import { ParquetFile } from './parquet-file.ts';

type Row = readonly Value[];

const types = ['BIGINT', 'VARCHAR', 'BOOLEAN', 'TIMESTAMP', 'BLOB'] as const;

/** A column of each type, and one without ranges. */
const columnsOf = (rows: readonly Row[]): Column[] => [
  ...types.map(
    (type, index): Column => ({
      name: `a ${type}`,
      type,
      of: ({ sequence }) => rows[sequence]?.[index] ?? null,
      ...(type !== 'BLOB' && { isRising: true }),
    }),
  ),
  { name: 'another', type: 'BIGINT', of: ({ sequence }) => rows[sequence]?.[0] ?? null },
];

function fileOf(rows: readonly Row[]): Uint8Array {
  const file = new ParquetFile(columnsOf(rows));
  for (const sequence of rows.keys()) file.append({ sequence } as ArchivedRow);
  return file.end();
}

const bufferOf = (rows: readonly Row[]) => new Uint8Array(fileOf(rows)).buffer;

/** A value as JSON can show it. */
function shownValue(value: unknown): unknown {
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : (value ?? null);
}

const shown = (rows: readonly Row[]) => rows.map((row) => types.map((_, n) => shownValue(row[n])));

/** The rows as hyparquet reads them from a file. */
const readBack = async (rows: readonly Row[]) =>
  (await rowsOf(bufferOf(rows))).map((row) => types.map((type) => shownValue(row[`a ${type}`])));

/** What a file of these rows says of its row groups, texts as their bytes. */
const groupsOf = (rows: readonly Row[]) =>
  parquetMetadata(bufferOf(rows), {
    geoparquet: false,
    parsers: { stringFromBytes: (bytes: Uint8Array) => bytes },
  }).row_groups;

const orNull = <T>(value: fc.Arbitrary<T>) => fc.option(value, { freq: 3 });

const someRow = fc.tuple(
  orNull(fc.oneof(fc.nat(3), fc.maxSafeNat())),
  orNull(fc.oneof(fc.constantFrom('', 'a', 'Größe', '\u{1f600}'), fc.string({ unit: 'binary' }))),
  orNull(fc.boolean()),
  orNull(fc.integer({ min: 0, max: 4e15 })),
  orNull(fc.uint8Array({ maxLength: 40 })),
);

test('a reader finds every value as it was written', async () => {
  // Each row comes several times: there are runs of equal values and of nulls.
  const repeated = fc.tuple(someRow, fc.integer({ min: 1, max: 20 }));
  await fc.assert(
    fc.asyncProperty(fc.array(repeated, { minLength: 1, maxLength: 40 }), async (groups) => {
      const rows = groups.flatMap(([row, times]) => new Array<Row>(times).fill(row));
      expect(await readBack(rows)).toEqual(shown(rows));
    }),
    { numRuns: 40 },
  );
});

test('a file holds more rows and different values than a row group and a dictionary', async () => {
  const rows: Row[] = Array.from({ length: 40_000 }, (_, at) => [
    ...[at, at < 20_000 ? `text ${at % 5_999}` : `text ${at}`, at % 3 === 0],
    ...[at % 7 === 0 ? null : at % 500, Buffer.from(`blob ${at}`)],
  ]);
  expect(await readBack(rows)).toEqual(shown(rows));
  expect(groupsOf(rows)).toHaveLength(5);
});

test('a row group ends before its texts fill the memory', async () => {
  const rows: Row[] = Array.from({ length: 36 }, (_, at) => [at, 'x'.repeat(2 ** 20), null]);
  expect(groupsOf(rows).map(({ num_rows }) => num_rows)).toEqual(new Array(9).fill(4n));
  expect((await readBack(rows)).map((row) => row[1])).toEqual(rows.map((row) => row[1]));
});

test('readers are told the range of a column that rises, and how many of its values are missing', async () => {
  const rows: Row[] = [
    [7, 'evt_b', true, 5_000_000, Buffer.of(1)],
    [null, 'evt_c', null, null, null],
    [3, 'evt_a', false, 2_000_000, Buffer.of(2)],
  ];
  const [group] = groupsOf(rows);
  const ranges = group?.columns.map(({ meta_data }) => {
    const { min_value, max_value, null_count } = meta_data?.statistics ?? {};
    return [min_value, max_value, null_count].map(shownValue);
  });
  const hex = (text: string) => Buffer.from(text).toString('hex');
  expect(ranges).toEqual([
    ['3', '7', '1'],
    [hex('evt_a'), hex('evt_c'), '0'],
    [false, true, '1'],
    [new Date(2_000), new Date(5_000), '1'],
    [null, null, null],
    [null, null, null],
  ]);
});

test('the range of a column includes every text, also one that is longer than a range says', () => {
  // Ranges are cut after 64 bytes: the greatest one is rounded up, also between code units.
  const ends = ['', 'a', '\u{7f}', 'ö', '\ud7ff', '\uffff', '\u{10ffff}'];
  const texts = ends.flatMap((end) => [end, end.repeat(70), `${'x'.repeat(63)}${end.repeat(2)}`]);
  for (const text of texts) {
    const { min_value: min, max_value: max } =
      groupsOf([[1, text, null, null, null]])[0]?.columns[1]?.meta_data?.statistics ?? {};
    const bytes = Buffer.from(text);
    expect(Buffer.compare(Buffer.from(min as unknown as Uint8Array), bytes)).toBeLessThan(1);
    // A range without an end includes everything.
    const isBelow = max && Buffer.compare(Buffer.from(max as unknown as Uint8Array), bytes) < 0;
    expect(isBelow ?? false).toBe(false);
  }
});

test('the same rows give the same bytes', () => {
  const rows: Row[] = Array.from({ length: 500 }, (_, at) => [
    ...[at, `text ${at % 9}`, null],
    ...[at, null],
  ]);
  expect(fileOf(rows)).toEqual(fileOf(rows.map((row) => [...row])));
});
