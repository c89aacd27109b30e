import { expect, test } from 'vitest';
import { nextPeriod, runningSince } from './period.ts';

const at = (iso: string) => Date.parse(iso);
const iso = (ms: number) => new Date(ms).toISOString();

test.each([
  ['weekly', 'UTC', '2026-11-22T23:59:59.999Z', '2026-11-16T00:00:00.000Z'],
  ['weekly', 'Asia/Tokyo', '2026-11-22T15:00:00.000Z', '2026-11-22T15:00:00.000Z'],
  ['monthly', 'America/Sao_Paulo', '2026-11-01T02:59:59.999Z', '2026-10-01T03:00:00.000Z'],
] as const)('%s in %s: at %s the period since %s is running', (frequency, zone, now, start) => {
  expect(iso(runningSince(frequency, zone, at(now)))).toBe(start);
});

test('each period begins where the one before ended, over changes of the clocks', () => {
  const ends: string[] = [];
  let until = at('2026-09-30T22:00:00Z'); // 1 October in Madrid
  for (;;) {
    const period = nextPeriod('monthly', 'Europe/Madrid', until, at('2027-04-30T21:59:59.999Z'));
    if (period === null) break;
    expect(period.fromMs).toBe(until);
    until = period.toMs;
    ends.push(iso(until).slice(5, 13));
  }
  expect(ends).toEqual([
    ...['10-31T23', '11-30T23', '12-31T23', '01-31T23', '02-28T23', '03-31T22'],
  ]);
});

test('a period is due at its end and not before, and only one at a time after a long pause', () => {
  const monday = at('2026-11-16T00:00:00Z');
  const next = (now: string) => nextPeriod('weekly', 'UTC', monday, at(now))?.toMs ?? null;
  expect(next('2026-11-22T23:59:59.999Z')).toBeNull();
  expect(next('2026-11-23T00:00:00.000Z')).toBe(at('2026-11-23T00:00:00Z'));
  expect(next('2029-01-01T00:00:00.000Z')).toBe(at('2026-11-23T00:00:00Z'));
});

test('a tenant that moves to another time zone gets no week twice, and none is left out', () => {
  const inTokyo = at('2026-11-15T15:00:00Z'); // Monday there
  const period = nextPeriod('weekly', 'America/Los_Angeles', inTokyo, at('2026-12-01T00:00:00Z'));
  expect([period?.fromMs, period?.toMs].map((ms) => iso(ms ?? 0))).toEqual([
    '2026-11-15T15:00:00.000Z',
    '2026-11-23T08:00:00.000Z',
  ]);
  const inLos = at('2026-11-16T08:00:00Z');
  const back = nextPeriod('weekly', 'Asia/Tokyo', inLos, at('2026-12-01T00:00:00Z'));
  expect(iso(back?.toMs ?? 0)).toBe('2026-11-22T15:00:00.000Z');
});
