import { expect, test } from 'vitest';
import { backoffMs } from './errors.ts';

test('pauses double up to ten seconds and spread over the whole interval', () => {
  expect([1, 2, 3, 6, 7, 50].map((attempt) => backoffMs(attempt, 1, 0))).toEqual([
    200, 400, 800, 6_400, 10_000, 10_000,
  ]);
  expect(backoffMs(3, 0, 0)).toBe(0);
  expect(backoffMs(3, 0.5, 0)).toBe(400);
});

test('a pause is never shorter than the service asked for', () => {
  expect(backoffMs(1, 0, 7_000)).toBe(7_000);
});
