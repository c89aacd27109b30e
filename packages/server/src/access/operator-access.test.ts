import fc from 'fast-check';
import { expect, test } from 'vitest';
import { anyCharacter } from '../../../protocol/src/testing/any-character.ts';
import {
  accessReasonHeader,
  headerValues,
  operatorEmailHeader,
  parseAccessReason,
  parseOperatorEmail,
} from './operator-access.ts';

const codeOf = (work: () => unknown) => {
  try {
    return `accepted: ${work()}`;
  } catch (error) {
    return (error as { code?: string }).code;
  }
};
const reasonOf = (...values: string[]) => parseAccessReason(values);
const emailOf = (...values: string[]) => parseOperatorEmail(values);
const visible = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 60 })
  .filter((text) => /[\p{L}\p{N}]/u.test(text) && !/\p{Cc}|[\u115f\u1160\u3164\uffa0]/u.test(text));

test('every visible reason arrives as it was meant, without surrounding white space', () => {
  fc.assert(
    fc.property(visible, (text) => {
      expect(reasonOf(encodeURIComponent(`  ${text}\u00a0`))).toBe(text.trim());
    }),
  );
});

test.each([
  ['plain ASCII with spaces', 'ticket 4711, asked by Ana', 'ticket 4711, asked by Ana'],
  ['a plus sign, which stands for itself', 'a+b', 'a+b'],
  ['other scripts', encodeURIComponent('Prüfung 監査 🔎'), 'Prüfung 監査 🔎'],
  ['a single character', 'x', 'x'],
  ['a number', '4711', '4711'],
  ['a sign', encodeURIComponent('🔎'), '🔎'],
  ['a letter beside one that cannot be seen', encodeURIComponent('\u3164x'), '\u3164x'],
])('%s is a reason', (_, header, reason) => {
  expect(reasonOf(header)).toBe(reason);
});

test.each([
  ['no header', []],
  ['an empty value', ''],
  ['spaces', '   '],
  ['encoded white space', '%20%09%C2%A0%E2%80%83'],
  ['characters that cannot be seen', encodeURIComponent('\u200b\u200d\u2060\ufeff')],
  ['letters that cannot be seen', encodeURIComponent('\u3164\u115f\u1160\uffa0')],
  ['a pattern of Braille without a dot', encodeURIComponent('\u2800\u2800')],
  ['a line break', 'ticket%0A2026-01-01 forged line'],
  ['a carriage return at the end', 'ticket%0D'],
  ['a tab', 'ticket%094711'],
  ['U+0000', 'ticket%00'],
  ['an escape sequence', '%1B[2Jticket'],
  ['DEL', 'ticket%7F'],
  ['a C1 control character', 'ticket%C2%9B2J'],
  ['a raw control character', 'ticket\u0007'],
  ['a lone percent sign', '100% sure'],
  ['a cut escape', 'ticket%4'],
  ['broken UTF-8', 'ticket%C3'],
  ['overlong UTF-8', '%C0%AF'],
  ['an encoded surrogate', '%ED%A0%80'],
  ['raw bytes above ASCII', 'Pr\u00c3\u00bcfung'],
  ['two headers', ['ticket 1', 'ticket 2']],
  ['the same header twice', ['ticket 1', 'ticket 1']],
])('%s is no reason', (_, header) => {
  expect(codeOf(() => reasonOf(...[header].flat()))).toBe('reason_required');
});

test('a reason has at most 1,000 characters, however many bytes they take', () => {
  const longest = encodeURIComponent('🔎'.repeat(1_000));
  expect(reasonOf(longest)).toHaveLength(2_000);
  expect(codeOf(() => reasonOf(`${longest}x`))).toBe('reason_required');
  expect(reasonOf(`${'%20'.repeat(50)}${'x'.repeat(1_000)}`)).toHaveLength(1_000);
});

test('a header of any content is a reason without control characters, or refused', () => {
  const encoded = fc
    .string({ unit: anyCharacter })
    .map((text) => encodeURIComponent(text.toWellFormed()));
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: anyCharacter }), encoded), (header) => {
      const answer = codeOf(() => reasonOf(header));
      expect(answer).toMatch(/^(reason_required|accepted: [^\p{Cc}]+)$/u);
    }),
  );
});

test('repeated headers are counted whatever their case, and values are never taken for names', () => {
  const raw = ['X-Access-Reason', 'a', 'Other', 'x-access-reason', 'x-ACCESS-reason', 'b'];
  expect(headerValues(raw, accessReasonHeader)).toEqual(['a', 'b']);
  expect(headerValues(raw, operatorEmailHeader)).toEqual([]);
});

test('an operator may name an address, or none', () => {
  expect(emailOf('op@example.com')).toBe('op@example.com');
  expect(emailOf()).toBeNull();
});

test.each([
  ['no address', 'operator'],
  ['an empty value', ''],
  ['two addresses', 'a@example.com, b@example.com'],
  ['two headers', ['a@example.com', 'b@example.com']],
  ['a control character', 'a\u0001@example.com'],
  ['raw bytes above ASCII', 'j\u00c3\u00b6rg@example.com'],
])('%s is not an operator e-mail', (_, header) => {
  expect(codeOf(() => emailOf(...[header].flat()))).toBe('invalid_parameter');
});
