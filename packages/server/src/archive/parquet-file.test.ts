import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { duckDb } from '../testing/archived.ts';
import type { ArchivedRow } from './archived-row.ts';
import type { Column, Value } from './columns.ts';
import { ParquetFile } from './parquet-file.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parquet-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

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

/** What DuckDB answers about a file of these rows, as values that JSON can show. */
async function ask(rows: readonly Row[], sql: (file: string) => string): Promise<unknown[][]> {
  const path = join(folder, 'file.parquet');
  await writeFile(path, fileOf(rows));
  return (await duckDb(sql(`'${path}'`))).map((row) => Object.values(row));
}

const readBack = (rows: readonly Row[]) =>
  ask(
    rows,
    (file) => `SELECT "a BIGINT"::VARCHAR, "a VARCHAR", "a BOOLEAN",
      epoch_us("a TIMESTAMP")::VARCHAR, lower(hex("a BLOB")) FROM ${file}`,
  );

const shown = (rows: readonly Row[]) =>
  rows.map((row) =>
    row.map((value) => {
      if (typeof value === 'number') return String(value);
      return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value;
    }),
  );

const orNull = <T>(value: fc.Arbitrary<T>) => fc.option(value, { freq: 3 });

const someRow = fc.tuple(
  orNull(fc.oneof(fc.nat(3), fc.maxSafeNat())),
  orNull(fc.oneof(fc.constantFrom('', 'a', 'Größe', '\u{1f600}'), fc.string({ unit: 'binary' }))),
  orNull(fc.boolean()),
  orNull(fc.integer({ min: 0, max: 4e15 })),
  orNull(fc.uint8Array({ maxLength: 40 })),
);

test('DuckDB reads every value as it was written', async () => {
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

test('DuckDB reads more rows and different values than a row group and a dictionary hold', async () => {
  const rows: Row[] = Array.from({ length: 40_000 }, (_, at) => [
    ...[at, at < 20_000 ? `text ${at % 5_999}` : `text ${at}`, at % 3 === 0],
    ...[at % 7 === 0 ? null : at % 500, Buffer.from(`blob ${at}`)],
  ]);
  expect(await readBack(rows)).toEqual(shown(rows));
  const groups = (file: string) => `SELECT num_row_groups FROM parquet_file_metadata(${file})`;
  expect(await ask(rows, groups)).toEqual([['5']]);
});

test('a row group ends before its texts fill the memory', async () => {
  const rows: Row[] = Array.from({ length: 36 }, (_, at) => [at, 'x'.repeat(2 ** 20), null]);
  const counts = (file: string) =>
    `SELECT DISTINCT row_group_id::INT, row_group_num_rows::INT FROM parquet_metadata(${file}) ORDER BY 1`;
  expect(await ask(rows, counts)).toEqual(Array.from({ length: 9 }, (_, group) => [group, 4]));
  expect((await readBack(rows)).map((row) => row[1])).toEqual(rows.map((row) => row[1]));
});

test('readers are told the range of a column that rises, and how many of its values are missing', async () => {
  const rows: Row[] = [
    [7, 'evt_b', true, 5_000_000, Buffer.of(1)],
    [null, 'evt_c', null, null, null],
    [3, 'evt_a', false, 2_000_000, Buffer.of(2)],
  ];
  const ranges = (file: string) =>
    `SELECT stats_min_value, stats_max_value, stats_null_count::INT FROM parquet_metadata(${file})`;
  expect(await ask(rows, ranges)).toEqual([
    ['3', '7', 1],
    ['evt_a', 'evt_c', 0],
    ['false', 'true', 1],
    ['1970-01-01 00:00:02', '1970-01-01 00:00:05', 1],
    [null, null, null],
    [null, null, null],
  ]);
});

test('a filter finds every text, also one that is longer than the ranges say', async () => {
  // Ranges are cut after 64 bytes: the greatest one is rounded up, also between code units.
  const ends = ['', 'a', '\u{7f}', 'ö', '\ud7ff', '\uffff', '\u{10ffff}'];
  const texts = ends.flatMap((end) => [end, end.repeat(70), `${'x'.repeat(63)}${end.repeat(2)}`]);
  for (const text of texts) {
    const found = (file: string) =>
      `SELECT count(*)::INT FROM ${file} WHERE "a VARCHAR" = '${text}'`;
    expect(await ask([[1, text, null, null, null]], found)).toEqual([[1]]);
  }
});

test('the same rows give the same bytes', () => {
  const rows: Row[] = Array.from({ length: 500 }, (_, at) => [
    ...[at, `text ${at % 9}`, null],
    ...[at, null],
  ]);
  expect(fileOf(rows)).toEqual(fileOf(rows.map((row) => [...row])));
});
