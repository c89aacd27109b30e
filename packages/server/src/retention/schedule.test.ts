import { defaultPlans, type Keeps, lateClass, retentionCutoff } from '@indelible/protocol';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { unitFor } from '../tenants/plan-changes.ts';
import {
  endOfPartition,
  isDue,
  lookAtClock,
  partitionOf,
  type RetentionTerms,
  removalCutoff,
  unitOf,
} from './schedule.ts';

const hour = 3_600_000;
const day = 24 * hour;
const start = Date.UTC(2026, 10, 20, 9, 30);

const [starter, pro, enterprise] = [{ days: 30 }, { years: 1 }, { years: 7 }];
const plans = defaultPlans.all.map((plan) => ({
  ...plan,
  archive: false,
  retired: false,
  unit: unitFor(plan.keeps),
}));

const termsOf = (keeps: Keeps, more: Partial<RetentionTerms> = {}): RetentionTerms => ({
  keeps,
  legalHold: false,
  grace: [],
  ...more,
});

test.each(plans)(
  'over eight years of daily runs, no $name event goes before its time is over, none stays 35 days after it',
  ({ class: retentionClass, keeps }) => {
    let time = { seenMs: start, believedMs: null as number | null };
    // One event a day from eight years before on, at changing times of the day, up to now.
    const kept: number[] = [];
    for (let ago = 8 * 366; ago > 0; ago--) kept.push(start - ago * day + ((ago * 7) % 24) * hour);
    let removed = 0;
    for (let n = 0; n < 8 * 366; n++) {
      const now = start + n * day + ((n * 5) % 7) * 60_000;
      kept.push(now);
      time = lookAtClock(time, now);
      for (let at = time.believedMs; at !== null && kept[0] !== undefined; ) {
        const [eventMs] = kept;
        const toMs = endOfPartition(unitOf(plans, retentionClass), eventMs);
        const partition = { name: '', retentionClass, fromMs: 0, toMs, receivedMs: toMs + day };
        if (!isDue(partition, plans, at)) break;
        // It may have been received a day after its timestamp.
        expect(eventMs + day, 'too early').toBeLessThan(retentionCutoff(keeps, now));
        kept.shift();
        removed += 1;
      }
      if (n < 40) continue; // what was there before the first run is caught up with
      const bound = retentionCutoff(keeps, now - 35 * day);
      expect(kept[0], 'too late').toBeGreaterThanOrEqual(bound);
    }
    expect(removed).toBeGreaterThan(365);
  },
);

test('on a leap day nothing goes before its years are over, and nothing comes back', () => {
  const cutoff = (plan: Keeps, now: string) =>
    new Date(removalCutoff(termsOf(plan), Date.parse(now)) ?? 0).toISOString();
  expect(cutoff(pro, '2028-02-29T12:00:00Z')).toBe('2027-03-01T00:00:00.000Z');
  expect(cutoff(pro, '2029-02-28T23:59:59Z')).toBe('2028-02-28T23:59:59.000Z');
  expect(cutoff(pro, '2029-03-01T00:00:00Z')).toBe('2028-03-01T00:00:00.000Z');
  expect(cutoff(enterprise, '2035-02-28T12:00:00Z')).toBe('2028-02-28T12:00:00.000Z');
  expect(cutoff(enterprise, '2032-02-29T12:00:00Z')).toBe('2025-03-01T00:00:00.000Z');
});

test('a plan that was left, and a hold that was lifted, keep what they kept until the grace ends', () => {
  const until = start + 30 * day;
  const terms = termsOf(starter, {
    grace: [
      { keeps: enterprise, untilMs: until },
      { keeps: pro, untilMs: until - day },
    ],
  });
  expect(removalCutoff(terms, until - 1)).toBe(retentionCutoff(enterprise, until - 1));
  expect(removalCutoff(terms, until)).toBe(until - 30 * day);
  const held = termsOf(starter, { grace: [{ keeps: null, untilMs: until }] });
  expect(removalCutoff(held, until - 1)).toBeNull();
  expect(removalCutoff(held, until)).toBe(until - 30 * day);
  expect(removalCutoff(termsOf(starter, { legalHold: true }), until)).toBeNull();
});

test('a granted class never makes an event go earlier', () => {
  const keeps = fc.constantFrom<Keeps[]>(starter, pro, enterprise);
  const untilMs = fc.integer({ min: start - 60 * day, max: start + 60 * day });
  const terms = fc.record({
    keeps,
    legalHold: fc.boolean(),
    grace: fc.array(fc.record({ keeps: fc.option(keeps), untilMs }), { maxLength: 3 }),
  });
  fc.assert(
    fc.property(terms, (terms) => {
      const cutoff = removalCutoff(terms, start);
      if (cutoff !== null) expect(cutoff).toBeLessThanOrEqual(retentionCutoff(terms.keeps, start));
      if (terms.legalHold) expect(cutoff).toBeNull();
    }),
  );
});

test('a clock that was ahead for less than most of a day removes nothing', () => {
  const runs = fc.array(
    fc.record({
      aheadDays: fc.integer({ min: 1, max: 4_000 }),
      wrongHours: fc.integer({ min: 1, max: 19 }),
      rightHours: fc.integer({ min: 1, max: 60 }),
    }),
    { maxLength: 12 },
  );
  fc.assert(
    fc.property(runs, (bursts) => {
      let now = start;
      let time = { seenMs: start - day, believedMs: null as number | null };
      const look = (clockMs: number) => {
        time = lookAtClock(time, clockMs);
        expect(time.believedMs ?? 0).toBeLessThanOrEqual(now);
        now += hour;
      };
      for (const { aheadDays, wrongHours, rightHours } of bursts) {
        for (let n = 0; n < wrongHours; n++) look(now + aheadDays * day);
        for (let n = 0; n < rightHours; n++) look(now);
      }
    }),
  );
});

test('a clock that goes back takes what is believed with it, and a right one is believed after a day', () => {
  const late = lookAtClock({ seenMs: start, believedMs: start - day }, start - 400 * day);
  expect(late).toEqual({ seenMs: start - 400 * day, believedMs: start - 400 * day });
  const again = lookAtClock(late, start);
  expect(again).toEqual({ seenMs: start, believedMs: start - 400 * day });
  expect(lookAtClock(again, start + hour)).toEqual(again);
  expect(lookAtClock(again, start + day)).toEqual({ seenMs: start + day, believedMs: start });
});

test('a partition is known by its name, and no other table is one', () => {
  expect(partitionOf('audit_events_0_20280229')).toEqual({
    name: 'audit_events_0_20280229',
    retentionClass: 0,
    fromMs: Date.UTC(2028, 1, 29),
    toMs: Date.UTC(2028, 2, 1),
    receivedMs: Date.UTC(2028, 2, 2),
  });
  const late = { retentionClass: lateClass, receivedMs: Number.POSITIVE_INFINITY };
  expect(partitionOf('audit_events_1000_1999')).toMatchObject(late);
  expect(partitionOf('audit_events_3_202612')).toMatchObject({
    retentionClass: 3,
    fromMs: Date.UTC(2026, 11, 1),
    toMs: Date.UTC(2027, 0, 1),
  });
  expect(partitionOf('audit_events_3_1999')).toMatchObject({
    fromMs: Date.UTC(1999, 0, 1),
    toMs: Date.UTC(2000, 0, 1),
  });
  expect(partitionOf('audit_events_17_20261201')).toMatchObject({ retentionClass: 17 });
  for (const name of [
    'audit_events',
    'audit_events_pro_202612',
    'audit_events_1_20261',
    'audit_events_1_2026121',
    'audit_events_1_202612; drop table tenants',
    'x_audit_events_1_202612',
  ]) {
    expect(partitionOf(name), name).toBeNull();
  }
});
