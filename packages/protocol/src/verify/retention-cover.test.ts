import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createBodyCover, type RetentionRecord } from './retention-cover.ts';

const small = fc.nat(12);
const records = fc.array(fc.record({ cutoffMs: small, size: small, byTimestamp: fc.boolean() }), {
  maxLength: 6,
});

test('a body may be absent exactly when a record covers it by both times and by size', () => {
  fc.assert(
    fc.property(records, small, small, small, (records, sequence, timeMs, receivedMs) => {
      const covers = ({ cutoffMs, size, byTimestamp }: RetentionRecord) =>
        sequence < size && timeMs < cutoffMs && (byTimestamp || receivedMs < cutoffMs);
      const expected = records.some(covers) ? 'expired' : 'missing';
      expect(createBodyCover({ records }).absenceOf(sequence, timeMs, receivedMs)).toBe(expected);
    }),
  );
});

test('neither a plan nor a statement explains the absence of an event that came late', () => {
  expect(createBodyCover({ planCutoffMs: 20 }).absenceOf(0, 5, 20)).toBe('missing');
  expect(createBodyCover({ statedCutoffMs: 20 }).absenceOf(0, 5, 20)).toBe('missing');
  expect(createBodyCover({ planCutoffMs: 20 }).absenceOf(0, 5, 19)).toBe('expired');
});

test('the cutoff of the plan hides older bodies at any size', () => {
  const cover = createBodyCover({ planCutoffMs: 10, records: [{ cutoffMs: 20, size: 3 }] });
  expect(cover.absenceOf(Number.MAX_SAFE_INTEGER, 9, 9)).toBe('expired');
  expect(cover.absenceOf(3, 10, 10)).toBe('missing');
  expect(cover.absenceOf(2, 19, 19)).toBe('expired');
  expect(cover.latestCutoffMs).toBe(20);
  expect(createBodyCover({ planCutoffMs: 10 }).latestCutoffMs).toBe(10);
});

test('every body is required where no record explains its absence', () => {
  const cover = createBodyCover({});
  expect(cover.absenceOf(0, 0, 0)).toBe('missing');
  expect(cover.latestCutoffMs).toBeNull();
  expect(createBodyCover({ records: [{ cutoffMs: 99, size: 0 }] }).latestCutoffMs).toBeNull();
});

test('stated absences are told apart from proven ones', () => {
  const cover = createBodyCover({ records: [{ cutoffMs: 20, size: 3 }], statedCutoffMs: 30 });
  expect([2, 3].map((sequence) => cover.absenceOf(sequence, 19, 19))).toEqual([
    'expired',
    'stated',
  ]);
  expect(cover.absenceOf(2, 20, 20)).toBe('stated');
  expect(cover.absenceOf(2, 30, 30)).toBe('missing');
  expect(cover.latestCutoffMs).toBe(30);
});
