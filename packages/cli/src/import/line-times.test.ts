import { expect, test } from 'vitest';
import { notATime, timeOf } from './line-times.ts';

test('epoch seconds and milliseconds are read from numbers and texts, to the millisecond', () => {
  expect(timeOf(1_763_632_805, 'epoch_s')).toBe('2025-11-20T10:00:05.000Z');
  expect(timeOf('1763632805.123456', 'epoch_s')).toBe('2025-11-20T10:00:05.123Z');
  expect(timeOf(1_763_632_805_123, 'epoch_ms')).toBe('2025-11-20T10:00:05.123Z');
  for (const value of ['2025-11-20T10:00:05Z', null, -1, 1e300, '1e3']) {
    expect(timeOf(value, 'epoch_s')).toBe(value);
  }
});

test('a time before 1970 is told as that, and a number with the option that reads it', () => {
  for (const value of ['1969-12-31T23:59:59Z', '0001-01-01', -5]) {
    expect(notATime(value)).toContain('before 1970');
  }
  expect(notATime(1_763_632_805)).toContain('--time epoch_s');
  expect(notATime('yesterday')).toBe('is not a time as in 2026-05-31T12:00:00Z');
});
