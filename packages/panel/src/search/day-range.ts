import type { DateValue } from '@internationalized/date';
import { toCalendarDate } from '@internationalized/date';

export interface DayRange {
  start: DateValue;
  end: DateValue;
}

/** `[from, to)` in ms from midnight of the first day to the end of the last one, in `timeZone`. */
export function dayRange({ start, end }: DayRange, timeZone: string): { from: number; to: number } {
  const midnight = (day: DateValue) => toCalendarDate(day).toDate(timeZone).getTime();
  return { from: midnight(start), to: midnight(toCalendarDate(end).add({ days: 1 })) };
}
