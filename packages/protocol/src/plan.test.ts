import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isPlan, type Plan, plans, retentionCutoff } from './plan.ts';

const day = 86_400_000;
const moment = fc.integer({ min: Date.UTC(2000, 0, 1), max: Date.UTC(2120, 0, 1) });
const anyPlan = fc.constantFrom(...plans);

test('the plans are exactly Starter, Pro and Enterprise, in this spelling', () => {
  expect(plans).toEqual(['Starter', 'Pro', 'Enterprise']);
  expect(plans.every(isPlan)).toBe(true);
  for (const wrong of ['starter', 'PRO', '', 'Free', 'toString']) expect(isPlan(wrong)).toBe(false);
});

test.each<[Plan, string, string]>([
  ['Starter', '2025-09-03T10:20:30.456Z', '2025-08-04T10:20:30.456Z'],
  ['Starter', '2024-03-15T00:00:00.000Z', '2024-02-14T00:00:00.000Z'],
  ['Pro', '2025-09-03T10:20:30.456Z', '2024-09-03T10:20:30.456Z'],
  ['Pro', '2025-02-28T23:59:59.999Z', '2024-02-28T23:59:59.999Z'],
  ['Pro', '2025-03-01T00:00:00.000Z', '2024-03-01T00:00:00.000Z'],
  ['Pro', '2028-02-28T23:59:59.999Z', '2027-02-28T23:59:59.999Z'],
  ['Pro', '2028-02-29T00:00:00.000Z', '2027-03-01T00:00:00.000Z'],
  ['Pro', '2028-02-29T23:59:59.999Z', '2027-03-01T00:00:00.000Z'],
  ['Pro', '2028-03-01T00:00:00.000Z', '2027-03-01T00:00:00.000Z'],
  ['Enterprise', '2025-09-03T10:20:30.456Z', '2018-09-03T10:20:30.456Z'],
  ['Enterprise', '2028-02-29T12:00:00.000Z', '2021-03-01T00:00:00.000Z'],
  ['Enterprise', '2107-02-28T12:00:00.000Z', '2100-02-28T12:00:00.000Z'],
])('%s at %s keeps what is not older than %s', (plan, now, cutoff) => {
  expect(new Date(retentionCutoff(plan, Date.parse(now))).toISOString()).toBe(cutoff);
});

test('an event that has left never comes back as time goes on', () => {
  fc.assert(
    fc.property(anyPlan, moment, fc.nat(3 * day), (plan, now, later) => {
      expect(retentionCutoff(plan, now + later)).toBeGreaterThanOrEqual(retentionCutoff(plan, now));
    }),
  );
});

test('no cutoff jumps over a leap day, hour by hour', () => {
  for (const plan of plans) {
    for (let hour = 0; hour < 96; hour++) {
      const now = Date.UTC(2028, 1, 27) + hour * 3_600_000;
      const step = retentionCutoff(plan, now + 3_600_000) - retentionCutoff(plan, now);
      expect(step === 0 || step === 3_600_000).toBe(true);
    }
  }
});

test('nothing leaves before its full number of days', () => {
  const daysAtLeast = { Starter: 30, Pro: 365, Enterprise: 7 * 365 + 1 };
  fc.assert(
    fc.property(anyPlan, moment, (plan, now) => {
      // Seven years hold a leap day at least, except around 2100, which is none.
      fc.pre(new Date(now).getUTCFullYear() < 2100);
      const age = now - retentionCutoff(plan, now);
      const frozen = new Date(now).getUTCMonth() === 1 && new Date(now).getUTCDate() === 29;
      expect(age).toBeGreaterThanOrEqual(daysAtLeast[plan] * day);
      if (!frozen) expect(age % day).toBe(0);
    }),
  );
});
