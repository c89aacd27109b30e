import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  createPlans,
  defaultPlans,
  heldClass,
  isShorter,
  type Keeps,
  lengthDays,
  retentionCutoff,
} from './plan.ts';

const day = 86_400_000;
const moment = fc.integer({ min: Date.UTC(2000, 0, 1), max: Date.UTC(2120, 0, 1) });
const keepsOf = Object.fromEntries(defaultPlans.all.map(({ name, keeps }) => [name, keeps]));
const { Starter, Pro, Enterprise } = keepsOf as Record<string, Keeps> & {
  Starter: Keeps;
  Pro: Keeps;
  Enterprise: Keeps;
};
const anyKeeps = fc.constantFrom(Starter, Pro, Enterprise);

test('the default plans are exactly Starter, Pro and Enterprise, in this spelling', () => {
  expect(defaultPlans.names).toEqual(['Starter', 'Pro', 'Enterprise']);
  for (const wrong of ['starter', 'PRO', '', 'Free', 'toString', '__proto__']) {
    expect(defaultPlans.named(wrong)).toBeNull();
  }
  expect(defaultPlans.ofClass(heldClass)).toBeNull();
  expect(defaultPlans.shortest.name).toBe('Starter');
});

const gold = { name: 'Gold', class: 4, keeps: { days: 60 } };

test.each([
  [[], 'there must be a plan'],
  [[gold, { ...gold, class: 5 }], 'two plans are called Gold'],
  [[gold, { ...gold, name: 'Silver' }], 'the plans Gold and Silver both have the class 4'],
  [
    [{ ...gold, class: 3 }],
    'the plan Gold cannot have the class 3, which is for legal holds: choose another',
  ],
])('the plans %j are refused with a sentence', (plans, sentence) => {
  expect(() => createPlans(plans)).toThrow(sentence);
});

test('days and years compare by their length', () => {
  expect(isShorter({ days: 365 }, { years: 1 })).toBe(true);
  expect(isShorter({ years: 1 }, { days: 366 })).toBe(true);
  expect(isShorter({ years: 2 }, { years: 2 })).toBe(false);
});

test.each<[Keeps, string, string]>([
  [Starter, '2025-09-03T10:20:30.456Z', '2025-08-04T10:20:30.456Z'],
  [Starter, '2024-03-15T00:00:00.000Z', '2024-02-14T00:00:00.000Z'],
  [Pro, '2025-09-03T10:20:30.456Z', '2024-09-03T10:20:30.456Z'],
  [Pro, '2025-02-28T23:59:59.999Z', '2024-02-28T23:59:59.999Z'],
  [Pro, '2025-03-01T00:00:00.000Z', '2024-03-01T00:00:00.000Z'],
  [Pro, '2028-02-28T23:59:59.999Z', '2027-02-28T23:59:59.999Z'],
  [Pro, '2028-02-29T00:00:00.000Z', '2027-03-01T00:00:00.000Z'],
  [Pro, '2028-02-29T23:59:59.999Z', '2027-03-01T00:00:00.000Z'],
  [Pro, '2028-03-01T00:00:00.000Z', '2027-03-01T00:00:00.000Z'],
  [Enterprise, '2025-09-03T10:20:30.456Z', '2018-09-03T10:20:30.456Z'],
  [Enterprise, '2028-02-29T12:00:00.000Z', '2021-03-01T00:00:00.000Z'],
  [Enterprise, '2107-02-28T12:00:00.000Z', '2100-02-28T12:00:00.000Z'],
])('%o at %s keeps what is not older than %s', (plan, now, cutoff) => {
  expect(new Date(retentionCutoff(plan, Date.parse(now))).toISOString()).toBe(cutoff);
});

test('an event that has left never comes back as time goes on', () => {
  fc.assert(
    fc.property(anyKeeps, moment, fc.nat(3 * day), (plan, now, later) => {
      expect(retentionCutoff(plan, now + later)).toBeGreaterThanOrEqual(retentionCutoff(plan, now));
    }),
  );
});

test('no cutoff jumps over a leap day, hour by hour', () => {
  for (const plan of [Starter, Pro, Enterprise]) {
    for (let hour = 0; hour < 96; hour++) {
      const now = Date.UTC(2028, 1, 27) + hour * 3_600_000;
      const step = retentionCutoff(plan, now + 3_600_000) - retentionCutoff(plan, now);
      expect(step === 0 || step === 3_600_000).toBe(true);
    }
  }
});

test('nothing leaves before its full number of days', () => {
  fc.assert(
    fc.property(anyKeeps, moment, (plan, now) => {
      // Seven years hold a leap day at least, except around 2100, which is none.
      fc.pre(new Date(now).getUTCFullYear() < 2100);
      const age = now - retentionCutoff(plan, now);
      const frozen = new Date(now).getUTCMonth() === 1 && new Date(now).getUTCDate() === 29;
      expect(age).toBeGreaterThanOrEqual(Math.floor(lengthDays(plan)) * day);
      if (!frozen) expect(age % day).toBe(0);
    }),
  );
});
