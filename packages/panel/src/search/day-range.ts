import {
  type DateValue,
  type Time,
  toCalendarDate,
  toCalendarDateTime,
} from '@internationalized/date';

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
