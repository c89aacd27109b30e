import { folded } from '@indelible/protocol';
import { CalendarDate, Time } from '@internationalized/date';
import type { DayRange } from './periods.ts';

/**
 * Days that someone has typed: `5 March`, `5.3.2026 14:30`, `2026-03-05 – 2026-03-08`. Numbers
 * stand in the order of the language; a day without a year is the latest one. Null for any other
 * text, and for days after today.
 */
export function typedRange(text: string, today: CalendarDate, language: string): DayRange | null {
  const [first, last = first, ...more] = text
    .split(/\s+-\s+|\s*[–—]\s*|\s*\.\.\s*/)
    .map((part) => typedMoment(part, today, language));
  if (!first || !last || more.length > 0 || first.day.compare(last.day) > 0) return null;
  const endTime = last === first ? null : last.time;
  return { start: first.day, end: last.day, startTime: first.time, endTime };
}

function typedMoment(text: string, today: CalendarDate, language: string) {
  const [, date = '', hour, minute] =
    /^(.*?)(?:[\s,T]+(\d{1,2}):(\d{2}))?$/.exec(text.trim()) ?? [];
  const day = typedDay(date, today, language);
  if (day === null || Number(hour ?? 0) > 23 || Number(minute ?? 0) > 59) return null;
  return { day, time: hour === undefined ? null : new Time(Number(hour), Number(minute)) };
}

const unsaid = ['de', 'del', 'of', 'the'];

function typedDay(text: string, today: CalendarDate, language: string): CalendarDate | null {
  const parts = (folded(text).match(/\d+|\p{L}+/gu) ?? []).filter((part) => !unsaid.includes(part));
  const words = parts.filter((part) => /\D/.test(part));
  const numbers = parts.filter((part) => !/\D/.test(part)).map(Number);
  const [word] = words;
  if (words.length > 1 || numbers.length > 3) return null;
  if (word !== undefined) {
    const month = monthNames(language).findIndex((name) => name.startsWith(word)) + 1;
    const [day, year] = numbers;
    return word.length < 3 ? null : dayOf({ day, month, year }, today);
  }
  if (numbers.length < 2) return null;
  const order = /^\d{4}\b/.test(text) ? isoOrder : orderIn(language);
  const given = order.filter((unit) => numbers.length === 3 || unit !== 'year');
  return dayOf(Object.fromEntries(given.map((unit, at) => [unit, numbers[at]])), today);
}

type Unit = 'day' | 'month' | 'year';
const isoOrder: readonly Unit[] = ['year', 'month', 'day'];

function orderIn(language: string): readonly Unit[] {
  const parts = new Intl.DateTimeFormat(language).formatToParts(0);
  return parts.flatMap(({ type }) => isoOrder.filter((unit) => unit === type));
}

function monthNames(language: string): string[] {
  const name = new Intl.DateTimeFormat(language, { month: 'long', timeZone: 'UTC' });
  return Array.from({ length: 12 }, (_, month) => folded(name.format(Date.UTC(2026, month))));
}

/** 29 February is up to eight years ago: 1900 and 2100 are no leap years. */
const yearsBack = [0, 1, 2, 3, 4, 5, 6, 7, 8];

function dayOf(
  { day = 0, month = 0, year }: Partial<Record<Unit, number | undefined>>,
  today: CalendarDate,
): CalendarDate | null {
  const years = year === undefined ? yearsBack.map((back) => today.year - back) : [year];
  const found = years.map((each) => new CalendarDate(each, month, day));
  // The constructor moves a day that does not exist, such as 31 February.
  const exists = (date: CalendarDate) => date.day === day && date.month === month;
  return (
    found.find((date) => exists(date) && date.year >= 1970 && date.compare(today) <= 0) ?? null
  );
}
