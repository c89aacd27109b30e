import fc from 'fast-check';
import { expect, test } from 'vitest';
import { endsOf, idleMs, longestMs, prolongedTo } from './session-times.ts';

test('a session begins with 30 minutes, and has 8 hours', () => {
  expect(endsOf(0, null)).toEqual({ idleExpiresAtMs: 30 * 60_000, expiresAtMs: 8 * 3_600_000 });
});

test('a session ends when the token does that opened it', () => {
  const minute = 60_000;
  expect(endsOf(0, minute)).toEqual({ idleExpiresAtMs: minute, expiresAtMs: minute });
  expect(endsOf(0, 60 * minute).idleExpiresAtMs).toBe(30 * minute);
  expect(endsOf(0, 24 * 60 * minute)).toEqual(endsOf(0, null));
});

test('however it is used, a session ends 30 minutes after that, less 10 s, and after 8 hours', () => {
  const pauses = fc.array(fc.integer({ min: 0, max: idleMs - 10_000 }), { maxLength: 60 });
  fc.assert(
    fc.property(pauses, (all) => {
      const session = endsOf(0, null);
      let now = 0;
      for (const pause of all) {
        now += pause;
        if (now >= longestMs) break;
        session.idleExpiresAtMs = prolongedTo(now, session) ?? session.idleExpiresAtMs;
        const fair = Math.min(now + idleMs, longestMs);
        expect(session.idleExpiresAtMs).toBeLessThanOrEqual(fair);
        expect(session.idleExpiresAtMs).toBeGreaterThan(fair - 10_000);
      }
    }),
  );
});
