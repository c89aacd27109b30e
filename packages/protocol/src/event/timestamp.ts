/** Times as text: reads a strict subset of ISO 8601, writes one canonical form. */

const date = /(\d{4})-(\d\d)-(\d\d)/.source;
const time = /[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?/.source;
const offset = /[Zz]|([+-])(\d\d)(?::?(\d\d))?/.source;
const timestampExpression = new RegExp(`^${date}(?:${time}(?: ?(?:${offset}))?)?$`);

/** The form of times, in the words of error messages. */
export const timeForm = 'a time as in 2026-05-31T12:00:00Z';

/** The end of the year 9999: later times have no text. */
export const timeMsMax = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

/**
 * Milliseconds since 1970 of `2025-09-03`, `2025-09-03T10:00`, `2025-09-03T10:00:00.123456+02:00`
 * and similar texts, or null. Without an offset the time is UTC, a date alone its midnight in UTC,
 * digits below the millisecond are cut off. A space may stand for the `T`, a comma for the point.
 * `24:00:00` is the next midnight, and so is a leap second, `23:59:60` in UTC, as in POSIX.
 * Refused: days that do not exist, times outside 1970 to 9999 in UTC. (`Date.parse` accepts too
 * much, and uses the machine's zone without an offset.)
 */
export function parseTimestamp(text: string): number | null {
  const match = timestampExpression.exec(text);
  if (match === null) return null;
  const [, year = '', month = '', day = '', hour = '0', minute = '0', second = '0'] = match;
  const [fraction = '', sign = '+', offsetHour = '0', offsetMinute = '0'] = match.slice(7);
  const dayStart = dateMs(Number(year), Number(month), Number(day));
  const timeOfDay = timeOfDayMs(Number(hour), Number(minute), Number(second));
  const ahead =
    Number(offsetHour) > 23 ? null : timeOfDayMs(Number(offsetHour), Number(offsetMinute), 0);
  if (dayStart === null || timeOfDay === null || ahead === null) return null;
  const milliseconds = Number(fraction.padEnd(3, '0').slice(0, 3));
  const wholeSecond = dayStart + timeOfDay - (sign === '-' ? -ahead : ahead);
  if (second === '60' && wholeSecond % dayMs !== 0) return null;
  if (hour === '24' && (timeOfDay !== dayMs || Number(fraction) !== 0)) return null;
  const moment = wholeSecond + milliseconds;
  return moment >= 0 && moment <= timeMsMax ? moment : null;
}

// Marked pure, so that a bundler can drop it from a program that only reads times.
const twoDigits = /* @__PURE__ */ Array.from({ length: 60 }, (_, value) =>
  String(value).padStart(2, '0'),
);

// The date of the last formatted day. Consecutive events share a day, and dates are the slow part.
let lastDay = Number.NaN;
let lastDate = '';

/** `2025-09-03T10:00:00.123Z`. Throws RangeError outside the years 0 to 9999. */
export function formatTimestamp(ms: number): string {
  const whole = Math.trunc(ms);
  const day = Math.floor(whole / dayMs);
  if (day !== lastDay) {
    const text = new Date(whole).toISOString();
    if (text.length !== 24) throw new RangeError('the year has more than four digits');
    [lastDay, lastDate] = [day, text.slice(0, 11)];
  }
  const time = whole - day * dayMs;
  const hour = twoDigits[Math.floor(time / (60 * minuteMs))];
  const minute = twoDigits[Math.floor(time / minuteMs) % 60];
  const second = twoDigits[Math.floor(time / 1000) % 60];
  const rest = time % 1000;
  const zeros = rest < 10 ? '00' : rest < 100 ? '0' : '';
  return `${lastDate}${hour}:${minute}:${second}.${zeros}${rest}Z`;
}

/** Formats a time that may be unknown. */
export const timestampOrNull = (ms: number | null) => (ms === null ? null : formatTimestamp(ms));

/** Like `formatTimestamp`, for untrusted values: out of range, the number as it is. */
export function formatAnyTimestamp(ms: number): string {
  return ms >= 0 && ms <= timeMsMax ? formatTimestamp(ms) : `${ms} ms`;
}

function dateMs(year: number, month: number, day: number): number | null {
  // Date.UTC reads the years 0 to 99 as 1900 to 1999; no time before 1969 is in range.
  if (year < 1969) return null;
  const ms = Date.UTC(year, month - 1, day);
  const date = new Date(ms);
  // A day or month that does not exist would roll over into another month.
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? ms : null;
}

function timeOfDayMs(hour: number, minute: number, second: number): number | null {
  if (hour > 24 || minute > 59 || second > 60) return null;
  return (hour * 60 + minute) * minuteMs + second * 1000;
}

/* A log entry holds the receipt time in microseconds; events show its millisecond. */

/** `2025-09-03T10:00:00.123Z`, with six digits only where the last three are not zero. */
export function formatReceivedAt(us: number): string {
  const text = formatTimestamp(Math.floor(us / 1000));
  const rest = us % 1000;
  return rest === 0 ? text : `${text.slice(0, -1)}${String(rest).padStart(3, '0')}Z`;
}

/**
 * Reads only texts of `formatReceivedAt`; null for any other text, and from the year 2255 on, where
 * the microseconds exceed a safe integer.
 */
export function parseReceivedAt(text: string): number | null {
  const ms = parseTimestamp(text);
  if (ms === null) return null;
  const rest = text.length === 27 ? Number(text.slice(23, 26)) : 0;
  const us = ms * 1000 + rest;
  return Number.isSafeInteger(us) && formatReceivedAt(us) === text ? us : null;
}
