import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  formatAnyTimestamp,
  formatReceivedAt,
  formatTimestamp,
  parseReceivedAt,
  parseTimestamp,
} from './timestamp.ts';

const anyMoment = fc.integer({ min: 0, max: Date.UTC(9999, 11, 31, 23, 59, 59, 999) });

test.each([
  ['2025-09-03', '2025-09-03T00:00:00.000Z'],
  ['2025-09-03T10:20', '2025-09-03T10:20:00.000Z'],
  ['2025-09-03T10:20:30', '2025-09-03T10:20:30.000Z'],
  ['2025-09-03t10:20:30z', '2025-09-03T10:20:30.000Z'],
  ['2025-09-03 10:20:30.123', '2025-09-03T10:20:30.123Z'],
  ['2025-09-03 10:20:30+02', '2025-09-03T08:20:30.000Z'],
  ['2025-09-03 10:20:30 +0200', '2025-09-03T08:20:30.000Z'],
  ['2025-09-03T10:20:30,5Z', '2025-09-03T10:20:30.500Z'],
  ['2025-09-03T24:00:00Z', '2025-09-04T00:00:00.000Z'],
  ['2025-09-03T24:00', '2025-09-04T00:00:00.000Z'],
  ['2016-12-31T23:59:60Z', '2017-01-01T00:00:00.000Z'],
  ['2017-01-01T05:29:60.25+05:30', '2017-01-01T00:00:00.250Z'],
  ['2025-09-03T10:20:30.1Z', '2025-09-03T10:20:30.100Z'],
  ['2025-09-03T10:20:30.123999999Z', '2025-09-03T10:20:30.123Z'],
  ['2025-09-03T10:20:30+02:00', '2025-09-03T08:20:30.000Z'],
  ['2025-09-03T10:20:30-0230', '2025-09-03T12:50:30.000Z'],
  ['2025-09-03T10:20:30+05', '2025-09-03T05:20:30.000Z'],
  ['2025-01-01T00:00:00+14:00', '2024-12-31T10:00:00.000Z'],
  ['2025-01-01T00:00:00-00:00', '2025-01-01T00:00:00.000Z'],
  ['2024-02-29T12:00:00Z', '2024-02-29T12:00:00.000Z'],
  ['2000-02-29', '2000-02-29T00:00:00.000Z'],
  ['1970-01-01T00:00:00Z', '1970-01-01T00:00:00.000Z'],
  ['9999-12-31T23:59:59.999999999Z', '9999-12-31T23:59:59.999Z'],
])('%s is the moment %s', (text, canonical) => {
  expect(parseTimestamp(text)).toBe(Date.parse(canonical));
});

test.each([
  ...['', 'now', '1756894830', '2025', '2025-09', '2025-9-3', '20250903T102030Z', '2025-09-03Z'],
  ...[
    '2025-09-03  10:20:30',
    '2025-09-03T10:20:30 02:00',
    '2025-09-03T10',
    '2025-09-03T10:20:30.Z',
  ],
  ...['2025-09-03T10:20:30,Z', '2025-09-03T10:20:30.1234567890Z', '2025-09-03T24:00:01Z'],
  ...['2025-09-03T24:00:00.001Z', '2025-09-03T24:30Z', '2025-09-03T25:00Z'],
  ...[
    '2025-09-03T23:60:00Z',
    '2025-06-30T23:58:60Z',
    '2025-06-30T12:59:60Z',
    '2025-09-03T10:20:30+24:00',
  ],
  ...['2025-09-03T10:20:30+02:60', '2025-09-03T10:20:30+2:00', '2025-09-03T10:20:30ZZ'],
  ...['2025-09-03T10:20:30Z\n', ' 2025-09-03', '2025-00-01', '2025-13-01', '2025-01-00'],
  ...['2025-04-31', '2025-02-29', '2100-02-29', '0025-01-01', '+002025-01-01', '-2025-01-01'],
  ...['1969-12-31T23:59:59.999Z', '1970-01-01T00:00:00+00:01', '9999-12-31T23:59:59-00:01'],
  '２０２５-01-01',
])('%j is refused', (text) => {
  expect(parseTimestamp(text)).toBeNull();
});

test('every moment of the years 1970 to 9999 survives being written and read', () => {
  fc.assert(
    fc.property(anyMoment, (ms) => {
      expect(formatTimestamp(ms)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      expect(parseTimestamp(formatTimestamp(ms))).toBe(ms);
    }),
  );
});

test('an offset moves the moment by exactly itself', () => {
  const offset = fc.integer({ min: -1439, max: 1439 });
  const day = 86_400_000;
  fc.assert(
    fc.property(fc.integer({ min: day, max: 200_000 * day }), offset, (ms, minutes) => {
      const local = formatTimestamp(ms + minutes * 60_000).slice(0, -1);
      const size = Math.abs(minutes);
      const hhmm = [Math.floor(size / 60), size % 60].map((part) => String(part).padStart(2, '0'));
      expect(parseTimestamp(`${local}${minutes < 0 ? '-' : '+'}${hhmm.join(':')}`)).toBe(ms);
    }),
  );
});

test('a date is accepted exactly when the calendar has it', () => {
  const part = (max: number) => fc.integer({ min: 0, max });
  const year = fc.integer({ min: 1970, max: 9999 });
  fc.assert(
    fc.property(year, part(14), part(33), (y, m, d) => {
      const leap = (y % 4 === 0 && y % 100 !== 0) || y % 400 === 0;
      const days = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][m - 1] ?? 0;
      const text = `${y}-${String(m).padStart(2, '0')}-${String(d).padStart(2, '0')}`;
      expect(parseTimestamp(text) !== null).toBe(d >= 1 && d <= days);
    }),
    { numRuns: 500 },
  );
});

test('a time without a four-digit year is not written at all', () => {
  for (const ms of [Number.NaN, Date.UTC(10_000, 0, 1), -70_000_000_000_000]) {
    expect(() => formatTimestamp(ms)).toThrow(RangeError);
  }
});

test('an unchecked moment always has some text', () => {
  expect(formatAnyTimestamp(Date.UTC(2025, 8, 3, 10, 0, 0, 123))).toBe('2025-09-03T10:00:00.123Z');
  expect(formatAnyTimestamp(253_402_300_799_999)).toBe('9999-12-31T23:59:59.999Z');
  expect(formatAnyTimestamp(253_402_300_800_000)).toBe('253402300800000 ms');
  expect(formatAnyTimestamp(-1)).toBe('-1 ms');
});

test('a moment of receipt comes back from its text, to the microsecond', () => {
  fc.assert(
    fc.property(fc.maxSafeNat(), (us) => {
      expect(parseReceivedAt(formatReceivedAt(us))).toBe(us);
    }),
  );
  expect(formatReceivedAt(1_756_894_560_250_000)).toBe('2025-09-03T10:16:00.250Z');
  expect(formatReceivedAt(1_756_894_560_250_007)).toBe('2025-09-03T10:16:00.250007Z');
});

test('a second spelling of a moment is refused', () => {
  for (const text of [
    ...['', '2025-09-03T10:16:00Z', '2025-09-03T10:16:00.25Z', '2025-09-03T10:16:00.250000Z'],
    ...['2025-09-03T10:16:00.2500070Z', '2025-09-03t10:16:00.250Z'],
    ...['2025-09-03T10:16:00.250+00:00', '2025-09-03T12:16:00.250+02:00'],
    ...['2025-02-30T10:16:00.250Z', '2025-09-03T10:16:00.25000xZ', '2255-06-06T00:00:00.000Z'],
  ]) {
    expect(parseReceivedAt(text), text).toBeNull();
  }
  fc.assert(
    fc.property(fc.string(), (text) => {
      const us = parseReceivedAt(text);
      if (us !== null) expect(formatReceivedAt(us)).toBe(text);
    }),
  );
});
