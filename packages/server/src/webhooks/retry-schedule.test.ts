import fc from 'fast-check';
import { expect, test } from 'vitest';
import { pauseAfter, retryPausesMs } from './retry-schedule.ts';

test('the pauses are those that are documented, a tenth more or less, and then there is none', () => {
  expect(retryPausesMs.map((pause) => pause / 1_000)).toEqual([
    ...[5, 300, 1_800, 7_200, 18_000, 36_000, 36_000],
  ]);
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 20 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (attempt, chance) => {
        const pause = pauseAfter(attempt, chance);
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
  expect([pauseAfter(1, 0), pauseAfter(1, 0.5)]).toEqual([4_500, 5_000]);
});
