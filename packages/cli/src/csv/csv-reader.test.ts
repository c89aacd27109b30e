import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { newFolder } from '../../../server/src/testing/folders.ts';
import { UsageError } from '../io.ts';
import { type CsvRecord, cellsOf, csvRecords } from './csv-reader.ts';

const folder = newFolder();
const path = join(folder, 'table.csv');

async function recordsOf(content: string | Buffer): Promise<CsvRecord[]> {
  writeFileSync(path, content);
  const records: CsvRecord[] = [];
  for await (const record of csvRecords(path)) {
    records.push({ ...record, bytes: Buffer.from(record.bytes) });
  }
  return records;
}

const quoted = (cell: string) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
const cell = fc.stringMatching(/^[a-zñ𝒳",\r\n ]{0,12}$/u);

test('cells are read as they were written, with quotes, commas and line breaks in them', async () => {
  const row = fc.array(cell, { minLength: 1, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(fc.array(row), async (rows) => {
      const lines = rows.map((cells) => `${cells.map(quoted).join(',')}\r\n`);
      const records = await recordsOf(lines.join(''));
      expect(records.map(({ cells }) => cells)).toEqual(rows);
      expect(records.map(({ bytes }) => bytes.toString())).toEqual(lines);
      expect(records.map(({ number }) => number)).toEqual(rows.map((_, index) => index + 1));
    }),
  );
});

test('a record is whole wherever the file is cut into chunks', async () => {
  const long = `a,"${'x""\r\n,'.repeat(300_000)}",b\r\n`;
  const records = await recordsOf(long.repeat(3));
  expect(records.map(({ bytes }) => bytes.toString() === long)).toEqual([true, true, true]);
  expect(records[2]?.cells).toEqual(['a', 'x"\r\n,'.repeat(300_000), 'b']);
});

test('what is not of RFC 4180 is no record, and does not take the others with it', async () => {
  for (const text of ['a"b', '"a"b', '"a', 'a,"', 'a\rb']) expect(cellsOf(text), text).toBeNull();
  expect(cellsOf('')).toEqual(['']);
  expect(cellsOf(',')).toEqual(['', '']);
  const invalid = Buffer.concat([
    Buffer.from('a,'),
    Buffer.from([0xff]),
    Buffer.from('\r\nb,c\r\n'),
  ]);
  const records = await recordsOf(invalid);
  expect(records.map(({ cells }) => cells)).toEqual([null, ['b', 'c']]);
});

test('an unclosed quote does not fill the memory', async () => {
  const records = await recordsOf(`"${'x'.repeat(12 << 20)}`);
  expect(records).toHaveLength(1);
  expect(records[0]?.cells).toBeNull();
  expect(records[0]?.bytes.length).toBeLessThan(10 << 20);
});

test('a file that is absent, or a folder, is refused with a sentence', async () => {
  for (const name of [join(folder, 'absent.csv'), folder]) {
    const message = `${name} cannot be read: `;
    await expect(csvRecords(name).next()).rejects.toThrow(message);
    await expect(csvRecords(name).next()).rejects.toBeInstanceOf(UsageError);
  }
});
