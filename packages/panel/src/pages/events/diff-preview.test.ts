import { expect, test } from 'vitest';
import { diffPreview, scalarText } from './diff-preview.ts';

const change = (from: number, to: number) => ({ from, to });

test('invisible characters of a value are written out', () => {
  expect(scalarText('a\u200bb')).toBe('a⟨U+200B⟩b');
});

test('a row shows the first two changes and says how many more there are', () => {
  const diff = { a: change(1, 2), b: change(3, 4), c: change(5, 6), d: change(7, 8) };
  expect(diffPreview(diff)).toEqual({
    shown: [
      { field: 'a', from: 1, to: 2 },
      { field: 'b', from: 3, to: 4 },
    ],
    more: 2,
  });
  expect(diffPreview({ a: change(1, 2) }).more).toBe(0);
  expect(diffPreview({})).toEqual({ shown: [], more: 0 });
});

test('false, zero and the empty text are values; only null is none', () => {
  expect([false, 0, '', null].map(scalarText)).toEqual(['false', '0', '', null]);
});
