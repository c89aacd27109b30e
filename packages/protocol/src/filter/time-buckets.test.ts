import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bucketStarts, isTimeZone, type TimeUnit } from './time-buckets.ts';

const hour = 3_600_000;
const utc = (text: string) => Date.parse(text);
const shown = (starts: number[] | null) => starts?.map((ms) => new Date(ms).toISOString());

function buckets(from: string, to: string, unit: TimeUnit, zone: string) {
  return shown(bucketStarts(utc(from), utc(to), unit, zone, 10_000));
}

test('days begin at local midnight, the first before the range', () => {
  expect(buckets('2025-09-02T22:30Z', '2025-09-04T22:00Z', 'day', 'Europe/Berlin')).toEqual([
    '2025-09-02T22:00:00.000Z',
    '2025-09-03T22:00:00.000Z',
  ]);
});

test('a range that ends where a bucket starts does not reach into it', () => {
  expect(buckets('2025-01-01T00:00Z', '2025-01-02T00:00Z', 'day', 'UTC')).toHaveLength(1);
  expect(buckets('2025-01-01T00:00Z', '2025-01-02T00:00:00.001Z', 'day', 'UTC')).toHaveLength(2);
  expect(buckets('2025-01-01T00:59:59.999Z', '2025-01-01T01:00Z', 'minute', 'UTC')).toEqual([
    '2025-01-01T00:59:00.000Z',
  ]);
});

test.each([
  ['clocks go forward at midnight', 'America/Sao_Paulo', '2018-11-03T12:00Z', [3, 3 + 24, 2 + 48]],
  ['clocks go back at midnight', 'America/Sao_Paulo', '2018-02-17T12:00Z', [2, 3 + 24, 3 + 48]],
  ['clocks go forward at midnight', 'Asia/Beirut', '2024-03-30T12:00Z', [-2, -2 + 24, -3 + 48]],
  ['clocks go back at 00:01', 'America/St_Johns', '2006-10-28T12:00Z', [2.5, 2.5 + 24, 3.5 + 48]],
  ['clocks go forward at 02:00', 'Europe/Berlin', '2025-03-29T12:00Z', [-1, -1 + 24, -2 + 48]],
])('a day on which %s in %s has its own length', (_, zone, noon, hours) => {
  const midnight = utc(noon) - 12 * hour;
  const starts = bucketStarts(utc(noon), utc(noon) + 48 * hour, 'day', zone, 10);
  expect(starts?.map((ms) => (ms - midnight) / hour)).toEqual(hours);
});

test('a day that a zone leapt over has no bucket', () => {
  expect(buckets('2011-12-29T12:00Z', '2011-12-31T12:00Z', 'day', 'Pacific/Apia')).toEqual([
    '2011-12-29T10:00:00.000Z',
    '2011-12-30T10:00:00.000Z',
    '2011-12-31T10:00:00.000Z',
  ]);
  const after = buckets('2011-12-30T10:00Z', '2011-12-30T11:00Z', 'day', 'Pacific/Apia');
  expect(after).toEqual(['2011-12-30T10:00:00.000Z']);
});

test('hours of half-hour zones begin at half past in UTC', () => {
  expect(buckets('2025-01-01T00:00Z', '2025-01-01T01:00Z', 'hour', 'Asia/Kolkata')).toEqual([
    '2024-12-31T23:30:00.000Z',
    '2025-01-01T00:30:00.000Z',
  ]);
});

test('an hour that happens twice is two buckets, a skipped one none', () => {
  const back = bucketStarts(
    utc('2025-10-25T22:00Z'),
    utc('2025-10-26T23:00Z'),
    'hour',
    'Europe/Berlin',
    99,
  );
  expect(back).toHaveLength(25);
  const forward = bucketStarts(
    utc('2025-03-29T23:00Z'),
    utc('2025-03-30T22:00Z'),
    'hour',
    'Europe/Berlin',
    99,
  );
  expect(forward).toHaveLength(23);
});

test('hours stay whole local hours around a change of half an hour', () => {
  expect(buckets('2025-04-05T14:10Z', '2025-04-05T16:40Z', 'hour', 'Australia/Lord_Howe')).toEqual([
    '2025-04-05T14:00:00.000Z',
    '2025-04-05T15:00:00.000Z',
    '2025-04-05T15:30:00.000Z',
    '2025-04-05T16:30:00.000Z',
  ]);
});

test('offsets with seconds are exact', () => {
  expect(buckets('1971-06-01T00:00Z', '1971-06-02T00:00Z', 'day', 'Africa/Monrovia')).toEqual([
    '1971-05-31T00:44:30.000Z',
    '1971-06-01T00:44:30.000Z',
  ]);
});

test('more buckets than allowed, or an endless range, give null; an empty range gives none', () => {
  const [from, to] = [utc('2025-01-01T00:00Z'), utc('2025-01-11T00:00Z')];
  expect(bucketStarts(from, to, 'day', 'UTC', 10)).toHaveLength(10);
  expect(bucketStarts(from, to, 'day', 'UTC', 9)).toBeNull();
  expect(bucketStarts(from, to, 'day', 'Europe/Berlin', 10)).toBeNull();
  expect(bucketStarts(0, utc('9999-12-31T00:00Z'), 'minute', 'Europe/Berlin', 10_000)).toBeNull();
  expect(bucketStarts(to, from, 'day', 'UTC', 10)).toEqual([]);
  expect(bucketStarts(from, from, 'hour', 'UTC', 10)).toEqual([]);
});

const zones = [
  ...['UTC', 'Europe/Berlin', 'America/Sao_Paulo', 'America/St_Johns', 'Asia/Beirut'],
  ...['Asia/Kathmandu', 'Australia/Lord_Howe', 'Africa/Casablanca', 'Pacific/Apia'],
  'America/Havana',
];

const clocks = new Map(
  zones.map((timeZone) => {
    const options = { timeZone, dateStyle: 'short', timeStyle: 'long' } as const;
    return [timeZone, new Intl.DateTimeFormat('sv-SE', options)];
  }),
);

/** The wall clock, read in another way than the code under test does: `2025-10-26 02 CEST`. */
function localText(ms: number, timeZone: string, unit: TimeUnit): string {
  const text = clocks.get(timeZone)?.format(ms) ?? '';
  if (unit === 'day') return text.slice(0, 10);
  return text.slice(0, unit === 'hour' ? 13 : 16) + text.slice(19);
}

test.each<TimeUnit>(['minute', 'hour', 'day'])(
  'every %s of any zone starts where the local clock changes its reading, and covers the range',
  (unit) => {
    const size = { minute: 60_000, hour, day: 24 * hour }[unit];
    const from = fc.integer({ min: 0, max: utc('2037-01-01T00:00Z') });
    const span = fc.integer({ min: 1, max: 40 * size });
    fc.assert(
      fc.property(fc.constantFrom(...zones), from, span, (zone, start, length) => {
        const starts = bucketStarts(start, start + length, unit, zone, 60) ?? [];
        expect(starts[0]).toBeLessThanOrEqual(start);
        expect(starts[1] ?? Number.POSITIVE_INFINITY).toBeGreaterThan(start);
        expect(starts.at(-1)).toBeLessThan(start + length);
        for (const [index, begin] of starts.entries()) {
          expect(localText(begin, zone, unit)).not.toBe(localText(begin - 1, zone, unit));
          const end = starts[index + 1] ?? start + length;
          expect(end).toBeGreaterThan(begin);
          expect(localText(end - 1, zone, unit)).toBe(localText(begin, zone, unit));
        }
      }),
    );
  },
);

test('only IANA names are time zones', () => {
  for (const name of [
    'UTC',
    'Europe/Berlin',
    'Asia/Kolkata',
    'Etc/GMT+5',
    'america/argentina/ushuaia',
  ]) {
    expect(isTimeZone(name)).toBe(true);
  }
  for (const name of ['', '+02:00', 'UTC+2', 'Mars/Olympus', 'Europe/Berlin\n', 'x'.repeat(200)]) {
    expect(isTimeZone(name)).toBe(false);
  }
  expect(() => bucketStarts(0, 1, 'day', 'Mars/Olympus', 1)).toThrow(RangeError);
});
