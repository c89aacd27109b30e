import { expect, test } from 'vitest';
import { retryAfterMs } from './retry-after.ts';

test('Retry-After is read as seconds or as a date, and anything else as no wish', () => {
  const now = Date.UTC(2025, 8, 3, 10);
  expect(retryAfterMs('12', now)).toBe(12_000);
  expect(retryAfterMs('Wed, 03 Sep 2025 10:00:05 GMT', now)).toBe(5_000);
  expect(retryAfterMs('Wed, 03 Sep 2025 09:00:00 GMT', now)).toBe(0);
  expect(retryAfterMs('soon', now)).toBe(0);
  expect(retryAfterMs('-5', now)).toBe(0);
  expect(retryAfterMs(null, now)).toBe(0);
});

test('however many digits it has, it is a long wait, and not taken for no wish', () => {
  for (const digits of [10, 12, 400]) {
    expect(retryAfterMs('9'.repeat(digits), 0)).toBeGreaterThan(86_400_000);
  }
});
