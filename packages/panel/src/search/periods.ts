import {
  type CalendarDate,
  type DateValue,
  endOfMonth,
  parseAbsolute,
  startOfMonth,
  startOfWeek,
  type Time,
  toCalendarDate,
  toCalendarDateTime,
} from '@internationalized/date';
import type { TimeRange } from './time-range.ts';

export interface DayRange {
  start: DateValue;
  end: DateValue;
  /** Without a time the range begins at midnight of the first day. */
  startTime?: Time | null;
  /** Without a time the range ends with the last day. */
  endTime?: Time | null;
}

/** `[from, to)` in ms, in `timeZone`. */
export function dayRange(range: DayRange, timeZone: string): { from: number; to: number } {
  const { start, end, startTime, endTime } = range;
  const at = (day: DateValue, time?: Time | null) => {
    const date = toCalendarDate(day);
    return (time ? toCalendarDateTime(date, time) : date).toDate(timeZone).getTime();
  };
  const to = endTime ? at(end, endTime) : at(toCalendarDate(end).add({ days: 1 }));
  return { from: at(start, startTime), to };
}

/** Ranges of whole days, counted in the reader's time zone. */
export const periods = [
  'today',
  'yesterday',
  'thisWeek',
  'lastWeek',
  'thisMonth',
  'lastMonth',
] as const;
export type Period = (typeof periods)[number];

export function dayAt(ms: number, timeZone: string): CalendarDate {
  return toCalendarDate(parseAbsolute(new Date(ms).toISOString(), timeZone));
}

/** The days of a period; `language` decides on which day a week starts. */
export function periodDays(period: Period, today: CalendarDate, language: string): DayRange {
  const week = startOfWeek(today, language);
  const month = startOfMonth(today);
  const yesterday = today.subtract({ days: 1 });
  const lastMonth = month.subtract({ months: 1 });
  return {
    today: { start: today, end: today },
    yesterday: { start: yesterday, end: yesterday },
    thisWeek: { start: week, end: today },
    lastWeek: { start: week.subtract({ weeks: 1 }), end: week.subtract({ days: 1 }) },
    thisMonth: { start: month, end: today },
    lastMonth: { start: lastMonth, end: endOfMonth(lastMonth) },
  }[period];
}

export function rangeOfDays(days: DayRange, timeZone: string): TimeRange {
  return { kind: 'between', ...dayRange(days, timeZone) };
}

/** The whole months up to this one, the latest first. */
export function latestMonths(today: CalendarDate, count: number): DayRange[] {
  return Array.from({ length: count }, (_, back) => {
    const start = startOfMonth(today).subtract({ months: back });
    return { start, end: endOfMonth(start) };
  });
}
