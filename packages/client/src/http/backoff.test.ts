import { expect, test } from 'vitest';
import { backoffMs, retryAfterMaxMs, retryAfterMs } from './backoff.ts';

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

test('however long the service asks to wait, it is not taken for no wish', () => {
  for (const digits of [10, 12, 400]) {
    expect(retryAfterMs('9'.repeat(digits), 0)).toBeGreaterThan(retryAfterMaxMs);
  }
});

test('Retry-After is read as seconds or as a date, and anything else as no wish', () => {
  const now = Date.UTC(2025, 8, 3, 10);
  expect(retryAfterMs('12', now)).toBe(12_000);
  expect(retryAfterMs('Wed, 03 Sep 2025 10:00:05 GMT', now)).toBe(5_000);
  expect(retryAfterMs('Wed, 03 Sep 2025 09:00:00 GMT', now)).toBe(0);
  expect(retryAfterMs('soon', now)).toBe(0);
  expect(retryAfterMs('-5', now)).toBe(0);
  expect(retryAfterMs(null, now)).toBe(0);
});
