import { CalendarDate, parseDate, Time } from '@internationalized/date';
import { expect, test } from 'vitest';
import { dayRange, latestMonths, type Period, periodDays, rangeOfDays } from './periods.ts';

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

test('the last day is included to its end, in the zone that is shown', () => {
  const days = { start: new CalendarDate(2025, 11, 3), end: new CalendarDate(2025, 11, 4) };
  expect(dayRange(days, 'UTC')).toEqual({
    from: Date.UTC(2025, 10, 3),
    to: Date.UTC(2025, 10, 5),
  });
  expect(dayRange(days, 'America/Sao_Paulo')).toEqual({
    from: Date.UTC(2025, 10, 3, 3),
    to: Date.UTC(2025, 10, 5, 3),
  });
});

test('with times the range begins and ends with them', () => {
  const day = new CalendarDate(2025, 11, 3);
  const times = { startTime: new Time(9, 30), endTime: new Time(17) };
  expect(dayRange({ start: day, end: day, ...times }, 'America/Sao_Paulo')).toEqual({
    from: Date.UTC(2025, 10, 3, 12, 30),
    to: Date.UTC(2025, 10, 3, 20),
  });
});

test('a day on which the clocks change is as long as it was', () => {
  const day = new CalendarDate(2025, 10, 26);
  const { from, to } = dayRange({ start: day, end: day }, 'Europe/Madrid');
  expect(to - from).toBe(25 * 3_600_000);
});
