import { expect, test } from 'vitest';
import { sideBySide } from './side-by-side.ts';

test('side by side, equal lines stand at the same height and nothing is left out', () => {
  const pairs = sideBySide({ a: 1, b: 2, d: 4 }, { a: 1, b: 3, c: 0, d: 4 });
  expect(pairs.map(({ left }) => left).filter((line) => line !== null)).toEqual([
    '{',
    '  "a": 1',
    '  "b": 2',
    '  "d": 4',
    '}',
  ]);
  for (const { left, right, same } of pairs) expect(same).toBe(left === right);
  expect(sideBySide(null, { a: 1 }).every(({ left }) => left === null)).toBe(true);
});
