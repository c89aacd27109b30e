import { retryPausesMs } from '@indelible/protocol';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { pauseAfter } from './webhook-state.ts';

test('the pauses are those that are documented, a tenth more or less, and then there is none', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 20 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (attempt, chance) => {
        const pause = pauseAfter(attempt, 0, chance);
        const expected = retryPausesMs[attempt - 1];
        if (expected === undefined) {
          expect(pause).toBeNull();
          return;
        }
        expect(pause).toBeGreaterThanOrEqual(Math.floor(0.9 * expected));
        expect(pause).toBeLessThanOrEqual(Math.ceil(1.1 * expected));
      },
    ),
  );
  expect([pauseAfter(1, 0, 0), pauseAfter(1, 0, 0.5)]).toEqual([4_500, 5_000]);
});

test('a receiver that asks for a longer pause gets it, up to the longest one', () => {
  const hour = 3_600_000;
  expect([pauseAfter(1, 60_000, 0), pauseAfter(1, 60_000, 1)]).toEqual([60_000, 66_000]);
  expect(pauseAfter(2, 60_000, 0.5)).toBe(300_000);
  expect(pauseAfter(1, 900 * hour, 0)).toBe(10 * hour);
  expect(pauseAfter(1, Number.POSITIVE_INFINITY, 0)).toBe(10 * hour);
  expect(pauseAfter(8, hour, 0)).toBeNull();
});
