import { parseDate } from '@internationalized/date';
import { expect, test } from 'vitest';
import { latestMonths, type Period, periodDays, rangeOfDays } from './periods.ts';

const sunday = parseDate('2026-03-01');

test('periods are whole days, and a week starts where the reader’s starts', () => {
  const days = (period: Period, language = 'en-US') => {
    const { start, end } = periodDays(period, sunday, language);
    return `${start} ${end}`;
  };
  expect(days('today')).toBe('2026-03-01 2026-03-01');
  expect(days('yesterday')).toBe('2026-02-28 2026-02-28');
  expect(days('thisWeek')).toBe('2026-03-01 2026-03-01');
  expect(days('thisWeek', 'es')).toBe('2026-02-23 2026-03-01');
  expect(days('lastWeek', 'es')).toBe('2026-02-16 2026-02-22');
  expect(days('thisMonth')).toBe('2026-03-01 2026-03-01');
  expect(days('lastMonth')).toBe('2026-02-01 2026-02-28');
});

test('a month ends where the next one starts, also when clocks change within it', () => {
  const [march, february] = latestMonths(sunday, 2).map((days) =>
    rangeOfDays(days, 'Europe/Berlin'),
  );
  expect(march).toEqual({
    kind: 'between',
    from: Date.parse('2026-02-28T23:00Z'),
    to: Date.parse('2026-03-31T22:00Z'),
  });
  expect(february).toMatchObject({ to: Date.parse('2026-02-28T23:00Z') });
});
