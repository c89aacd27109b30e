import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isBlank, type Line, LineSplitter, lineBytesMax } from './line-splitter.ts';

function linesOf(...chunks: (string | Buffer)[]): Line[] {
  const splitter = new LineSplitter();
  const lines = chunks.flatMap((chunk) => [...splitter.push(Buffer.from(chunk))]);
  return [...lines, ...splitter.end()];
}

const texts = (...chunks: string[]) => linesOf(...chunks).map(({ bytes }) => bytes.toString());

test('the lines are the same however the bytes arrive', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'é', '\n', '\r\n', ' ') });
  fc.assert(
    fc.property(text, fc.array(fc.nat(40)), (whole, cuts) => {
      const bytes = Buffer.from(whole);
      const at = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b)];
      const chunks = at.map((start, index) => bytes.subarray(start, at[index + 1]));
      expect(linesOf(...chunks)).toEqual(linesOf(bytes));
    }),
  );
});

test('lines end in LF or CRLF, and the last one may end in nothing', () => {
  expect(texts('a\nb\r\n\r\nc')).toEqual(['a', 'b', '', 'c']);
  expect(texts('a\n')).toEqual(['a']);
  expect(texts('')).toEqual([]);
});

test('lines are numbered as an editor numbers them, blank ones included', () => {
  const lines = linesOf('a\n\n \t\r\nb');
  expect(lines.map(({ number }) => number)).toEqual([1, 2, 3, 4]);
  expect(lines.map(isBlank)).toEqual([false, true, true, false]);
});

test('a byte order mark is dropped in front of the first line only, even when it comes in pieces', () => {
  const mark = Buffer.from('\ufeff');
  const lines = linesOf(mark.subarray(0, 1), mark.subarray(1), 'a\n', mark, 'b');
  expect(lines.map(({ bytes }) => bytes.toString())).toEqual(['a', '\ufeffb']);
});

test('a line of 600 KiB is whole; one byte more and only its beginning is kept', () => {
  const fits = 'x'.repeat(lineBytesMax);
  expect(linesOf(`${fits}\r\n`)).toEqual([{ number: 1, bytes: Buffer.from(fits), tooLong: false }]);
  const [long, next] = linesOf(`${fits}y\nz`);
  expect(long).toMatchObject({ number: 1, tooLong: true });
  expect(long?.bytes.length).toBe(1_000);
  expect(next).toEqual({ number: 2, bytes: Buffer.from('z'), tooLong: false });
});

test('a line of 5 GiB, more bytes than 32 bits count, is reported like any other that is too long', () => {
  const splitter = new LineSplitter();
  const chunk = Buffer.alloc(2 ** 20, 'x');
  for (let chunks = 0; chunks < 5 * 1_024; chunks++) {
    for (const line of splitter.push(chunk)) expect(line).toBeUndefined();
  }
  expect([...splitter.push(Buffer.from('\n{}'))]).toMatchObject([{ number: 1, tooLong: true }]);
});
