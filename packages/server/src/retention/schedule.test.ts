import { type Plan, plans, retentionCutoff } from '@indelible/protocol';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  endOfPartition,
  isDue,
  lookAtClock,
  partitionOf,
  type RetentionTerms,
  removalCutoff,
} from './schedule.ts';

const hour = 3_600_000;
const day = 24 * hour;
const start = Date.UTC(2026, 10, 20, 9, 30);

const termsOf = (plan: Plan, more: Partial<RetentionTerms> = {}): RetentionTerms => ({
  plan,
  legalHold: false,
  proUntilMs: null,
  enterpriseUntilMs: null,
  heldUntilMs: null,
  ...more,
});

test.each(plans)(
  'over eight years of daily runs, no %s event goes before its time is over, none stays 35 days after it',
  (plan) => {
    const retentionClass = plans.indexOf(plan);
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
        const toMs = endOfPartition(retentionClass, eventMs);
        if (!isDue({ name: '', retentionClass, fromMs: 0, toMs }, at)) break;
        expect(eventMs, 'too early').toBeLessThan(retentionCutoff(plan, now));
        kept.shift();
        removed += 1;
      }
      if (n < 40) continue; // what was there before the first run is caught up with
      const bound = retentionCutoff(plan, now - 35 * day);
      expect(kept[0], 'too late').toBeGreaterThanOrEqual(bound);
    }
    expect(removed).toBeGreaterThan(365);
  },
);

test('on a leap day nothing goes before its years are over, and nothing comes back', () => {
  const cutoff = (plan: Plan, now: string) =>
    new Date(removalCutoff(termsOf(plan), Date.parse(now)) ?? 0).toISOString();
  expect(cutoff('Pro', '2028-02-29T12:00:00Z')).toBe('2027-03-01T00:00:00.000Z');
  expect(cutoff('Pro', '2029-02-28T23:59:59Z')).toBe('2028-02-28T23:59:59.000Z');
  expect(cutoff('Pro', '2029-03-01T00:00:00Z')).toBe('2028-03-01T00:00:00.000Z');
  expect(cutoff('Enterprise', '2035-02-28T12:00:00Z')).toBe('2028-02-28T12:00:00.000Z');
  expect(cutoff('Enterprise', '2032-02-29T12:00:00Z')).toBe('2025-03-01T00:00:00.000Z');
});

test('a plan that was left, and a hold that was lifted, keep what they kept until the grace ends', () => {
  const until = start + 30 * day;
  const terms = termsOf('Starter', { enterpriseUntilMs: until, proUntilMs: until - day });
  expect(removalCutoff(terms, until - 1)).toBe(retentionCutoff('Enterprise', until - 1));
  expect(removalCutoff(terms, until)).toBe(until - 30 * day);
  expect(removalCutoff(termsOf('Starter', { heldUntilMs: until }), until - 1)).toBeNull();
  expect(removalCutoff(termsOf('Starter', { heldUntilMs: until }), until)).toBe(until - 30 * day);
  expect(removalCutoff(termsOf('Starter', { legalHold: true }), until)).toBeNull();
});

test('what was granted never makes anything go earlier', () => {
  const moment = fc.option(fc.integer({ min: start - 60 * day, max: start + 60 * day }));
  const terms = fc.record({
    plan: fc.constantFrom(...plans),
    legalHold: fc.boolean(),
    proUntilMs: moment,
    enterpriseUntilMs: moment,
    heldUntilMs: moment,
  });
  fc.assert(
    fc.property(terms, (terms) => {
      const cutoff = removalCutoff(terms, start);
      if (cutoff !== null) expect(cutoff).toBeLessThanOrEqual(retentionCutoff(terms.plan, start));
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
  expect(partitionOf('audit_events_starter_20280229')).toEqual({
    name: 'audit_events_starter_20280229',
    retentionClass: 0,
    fromMs: Date.UTC(2028, 1, 29),
    toMs: Date.UTC(2028, 2, 1),
  });
  expect(partitionOf('audit_events_held_202612')).toMatchObject({
    retentionClass: 3,
    fromMs: Date.UTC(2026, 11, 1),
    toMs: Date.UTC(2027, 0, 1),
  });
  for (const name of [
    'audit_events',
    'audit_events_pro_20261201',
    'audit_events_starter_202612',
    'audit_events_gold_202612',
    'audit_events_pro_202612; drop table tenants',
    'x_audit_events_pro_202612',
  ]) {
    expect(partitionOf(name), name).toBeNull();
  }
});
