import { expect, test } from 'vitest';
import { counted, withCommas } from './limits.ts';

test('counts are grouped by thousands', () => {
  expect([0, 999, 120_003].map(withCommas)).toEqual(['0', '999', '120,003']);
});

test('a counted noun is singular for one alone', () => {
  const texts = [0, 1, 1_200].map((count) => counted(count, 'event'));
  expect(texts).toEqual(['0 events', '1 event', '1,200 events']);
  expect([1, 2].map((count) => counted(count, 'entry', 'entries'))).toEqual([
    '1 entry',
    '2 entries',
  ]);
});
