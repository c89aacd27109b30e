import { parseDate } from '@internationalized/date';
import { expect, test } from 'vitest';
import { typedRange } from './typed-range.ts';

const typed = (text: string, language = 'en', today = parseDate('2026-03-10')) => {
  const range = typedRange(text, today, language);
  const at = (day: unknown, time: unknown) => [day, time].filter(Boolean).join(' ');
  return range && `${at(range.start, range.startTime)} to ${at(range.end, range.endTime)}`;
};
const day = '2026-03-05 to 2026-03-05';

test.each([
  ['en', '3/5/2026', day],
  ['en', 'March 5, 2026', day],
  ['en', '5 mar', day],
  ['de', '5.3.2026', day],
  ['de', '5. März 2026', day],
  ['de', '5. marz', day],
  ['es', '5/3/2026', day],
  ['es', '5 de marzo de 2026', day],
  ['pt-BR', '05/03', day],
  ['pt-BR', '5 de março', day],
  ['pt-BR', '2026-03-05', day],
  ['en', 'december 24', '2025-12-24 to 2025-12-24'],
  ['en', '3/5/2026 14:30', '2026-03-05 14:30:00 to 2026-03-05'],
  ['de', '1.3. – 5.3.', '2026-03-01 to 2026-03-05'],
  ['es', '2026-03-01 08:00 - 2026-03-05 17:45', '2026-03-01 08:00:00 to 2026-03-05 17:45:00'],
])('in %s “%s” is %s', (language, text, said) => {
  expect(typed(text, language)).toBe(said);
});

test.each([
  ['2026-11-28', '2024-02-29'],
  ['2028-01-31', '2024-02-29'],
  ['2028-02-29', '2028-02-29'],
  ['2103-03-01', '2096-02-29'],
])('on %s “29 February” is the latest one, %s', (today, said) => {
  expect(typed('29 February', 'en', parseDate(today))).toBe(`${said} to ${said}`);
});

test.each([
  ...['', 'yesterday', 'March 2026', '5', '14:30', '2/30/2026', '13/13', '3/5/2026 25:00'],
  ...['3/11/2026', '3/5/2026 - 3/1/2026', 'a b 5', '5 march 6 2026 7', '3/1 - 3/2 - 3/3'],
])('“%s” is no day', (text) => {
  expect(typed(text)).toBeNull();
});
