import { expect, test } from 'vitest';
import { barsOf, unitFor } from './buckets.ts';

const hour = 3_600_000;
const day = 24 * hour;
const from = Date.UTC(2025, 10, 1);

test('bars cover the whole range without gaps, and no event is lost between them', () => {
  for (const [days, unit] of [
    [1, 'hour'],
    [30, 'day'],
    [365, 'day'],
  ] as const) {
    const to = from + days * day;
    const counts = [
      { start: from, word: 'security', count: 3 },
      { start: from, word: 'cross_tenant', count: 2 },
      { start: to - day, word: 'configuration', count: 5 },
    ];
    const bars = barsOf(counts, { from, to }, unit, 'UTC');
    expect(bars[0]?.from).toBe(from);
    expect(bars.at(-1)?.to).toBe(to);
    expect(bars.length).toBeLessThanOrEqual(96);
    for (const [index, bar] of bars.entries()) {
      if (index > 0) expect(bar.from).toBe(bars[index - 1]?.to);
    }
    expect(bars.reduce((sum, { count }) => sum + count, 0)).toBe(10);
    expect(bars.reduce((sum, { marked }) => sum + marked, 0)).toBe(2);
  }
});

test('days of a zone with changing clocks begin at its midnights', () => {
  const [start, end] = [Date.UTC(2025, 9, 24, 22), Date.UTC(2025, 9, 27, 23)];
  const bars = barsOf([], { from: start, to: end }, 'day', 'Europe/Madrid');
  expect(bars.map((bar) => (bar.to - bar.from) / hour)).toEqual([24, 25, 24]);
});

test('short ranges are counted finely, long ones by day', () => {
  expect([hour, 2 * day, 90 * day].map(unitFor)).toEqual(['minute', 'hour', 'day']);
});
