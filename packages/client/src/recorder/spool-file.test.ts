import fc from 'fast-check';
import { expect, test } from 'vitest';
import { anyCharacter } from '../../../protocol/src/testing/any-character.ts';
import { appendDurably, decodeRecords, encodeRecords, recordOverhead } from './spool-file.ts';

const texts = fc.array(
  fc
    .dictionary(fc.string({ unit: anyCharacter }), fc.jsonValue())
    .map((value) => JSON.stringify(value)),
  { minLength: 1, maxLength: 8 },
);

test('written lines are read again, whatever the texts hold', () => {
  fc.assert(
    fc.property(texts, (all) => {
      const lines = encodeRecords(all);
      const bytes = all.reduce((sum, text) => sum + Buffer.byteLength(text) + recordOverhead, 0);
      expect(lines.length).toBe(bytes);
      expect(decodeRecords(lines)).toEqual({ texts: all, damagedBytes: 0 });
    }),
  );
});

test('a spool file that was cut anywhere gives every record before the cut, and tells of the rest', () => {
  fc.assert(
    fc.property(texts, fc.nat(), (all, at) => {
      const lines = encodeRecords(all);
      const cut = at % lines.length;
      const whole = all.filter((_, index) => encodeRecords(all.slice(0, index + 1)).length <= cut);
      const damagedBytes = cut - encodeRecords(whole).length;
      expect(decodeRecords(lines.subarray(0, cut))).toEqual({ texts: whole, damagedBytes });
    }),
  );
});

test('a byte that changed costs the record that it is in, or the two that it joins, and no other', () => {
  fc.assert(
    fc.property(texts, fc.nat(), fc.integer({ min: 1, max: 255 }), (all, at, change) => {
      const lines = encodeRecords(all);
      const offset = at % lines.length;
      lines[offset] = (lines[offset] ?? 0) ^ change;
      const { texts: left, damagedBytes } = decodeRecords(lines);
      const hit = all.findIndex((_, i) => encodeRecords(all.slice(0, i + 1)).length > offset);
      const isEnd = encodeRecords(all.slice(0, hit + 1)).length === offset + 1;
      const expected = all.filter((_, index) => index !== hit && !(isEnd && index === hit + 1));
      expect(left).toEqual(expected);
      expect(damagedBytes).toBeGreaterThan(0);
    }),
  );
});

test('a write that fails says why, also where the file cannot be cut back', () => {
  expect(() => appendDurably('/dev/full', Buffer.from('x'))).toThrow('ENOSPC');
});
