import { CalendarDate, Time } from '@internationalized/date';
import { expect, test } from 'vitest';
import { dayRange } from './day-range.ts';

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
