import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatReceivedAt, parseReceivedAt } from '../event/timestamp.ts';

test('a moment of receipt comes back from its text, to the microsecond', () => {
  fc.assert(
    fc.property(fc.maxSafeNat(), (us) => {
      expect(parseReceivedAt(formatReceivedAt(us))).toBe(us);
    }),
  );
  expect(formatReceivedAt(1_756_894_560_250_000)).toBe('2025-09-03T10:16:00.250Z');
  expect(formatReceivedAt(1_756_894_560_250_007)).toBe('2025-09-03T10:16:00.250007Z');
});

test('a second spelling of a moment is refused', () => {
  for (const text of [
    '',
    '2025-09-03T10:16:00Z',
    '2025-09-03T10:16:00.25Z',
    '2025-09-03T10:16:00.250000Z',
    '2025-09-03T10:16:00.2500070Z',
    '2025-09-03t10:16:00.250Z',
    '2025-09-03T10:16:00.250+00:00',
    '2025-09-03T12:16:00.250+02:00',
    '2025-02-30T10:16:00.250Z',
    '2025-09-03T10:16:00.25000xZ',
    '2255-06-06T00:00:00.000Z',
  ]) {
    expect(parseReceivedAt(text), text).toBeNull();
  }
  fc.assert(
    fc.property(fc.string(), (text) => {
      const us = parseReceivedAt(text);
      if (us !== null) expect(formatReceivedAt(us)).toBe(text);
    }),
  );
});
