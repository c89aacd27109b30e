import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FormatError } from './format-error.ts';
import { createBodyCover, type RetentionRecord, retentionRecordsOf } from './retention-cover.ts';
import { parsedOrRefused } from './testing/tampering.ts';

const small = fc.nat(12);
const records = fc.array(fc.record({ cutoffMs: small, size: small }), { maxLength: 6 });

test('a body may be absent exactly when a record covers it by time and by size', () => {
  fc.assert(
    fc.property(records, small, small, (records, sequence, timeMs) => {
      const covers = ({ cutoffMs, size }: RetentionRecord) => timeMs < cutoffMs && sequence < size;
      const expected = records.some(covers) ? 'expired' : 'missing';
      expect(createBodyCover({ records }).absenceOf(sequence, timeMs)).toBe(expected);
    }),
  );
});

test('the cutoff of the plan hides older bodies at any size', () => {
  const cover = createBodyCover({ planCutoffMs: 10, records: [{ cutoffMs: 20, size: 3 }] });
  expect(cover.absenceOf(Number.MAX_SAFE_INTEGER, 9)).toBe('expired');
  expect(cover.absenceOf(3, 10)).toBe('missing');
  expect(cover.absenceOf(2, 19)).toBe('expired');
  expect(cover.latestCutoffMs).toBe(20);
  expect(createBodyCover({ planCutoffMs: 10 }).latestCutoffMs).toBe(10);
});

test('without a record every body is owed', () => {
  const cover = createBodyCover({});
  expect(cover.absenceOf(0, 0)).toBe('missing');
  expect(cover.latestCutoffMs).toBeNull();
  expect(createBodyCover({ records: [{ cutoffMs: 99, size: 0 }] }).latestCutoffMs).toBeNull();
});

test('what lies outside the range was not asked for; a filter leaves the rest unjudged', () => {
  const cover = createBodyCover({ fromMs: 10, toMs: 20 });
  expect([9, 10, 19, 20].map((timeMs) => cover.absenceOf(0, timeMs))).toEqual([
    'outside',
    'missing',
    'missing',
    'outside',
  ]);
  const filtered = createBodyCover({ fromMs: 10, isFiltered: true, planCutoffMs: 12 });
  expect([9, 11, 12].map((timeMs) => filtered.absenceOf(0, timeMs))).toEqual([
    'outside',
    'expired',
    'unjudged',
  ]);
});

test('records are read from their JSON, and anything else is refused', () => {
  const cutoff = '2025-09-03T10:16:00.000Z';
  expect(retentionRecordsOf([{ cutoff, size: 5 }])).toEqual([
    { cutoffMs: Date.UTC(2025, 8, 3, 10, 16), size: 5 },
  ]);
  expect(retentionRecordsOf([])).toEqual([]);
  for (const wrong of [
    null,
    {},
    [null],
    [[]],
    [{ cutoff }],
    [{ size: 5 }],
    [{ cutoff, size: -1 }],
    [{ cutoff, size: 1.5 }],
    [{ cutoff: 'then', size: 5 }],
    [{ cutoff, size: 5, more: 1 }],
    [7],
    'x',
  ]) {
    expect(() => retentionRecordsOf(wrong), JSON.stringify(wrong)).toThrow(FormatError);
  }
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      parsedOrRefused(() => retentionRecordsOf(value));
    }),
  );
});
