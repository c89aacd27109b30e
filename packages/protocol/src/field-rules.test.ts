import fc from 'fast-check';
import { expect, test } from 'vitest';
import { emailKey, isEmail, isPrintable, isSnakeCase } from './field-rules.ts';

test('words are snake_case, begin with a letter and have at most 64 characters', () => {
  for (const word of [
    'a',
    'create',
    'login_failed',
    'resource_explorer_2_account',
    'a'.repeat(64),
  ]) {
    expect(isSnakeCase(word)).toBe(true);
  }
  const wrong = [
    '',
    'Create',
    'log-in',
    '2fa',
    '_a',
    'a_',
    'a__b',
    'é',
    'a b',
    'a\n',
    'a'.repeat(65),
  ];
  for (const word of wrong) expect(isSnakeCase(word)).toBe(false);
});

test('whatever generators of addresses produce is an e-mail address', () => {
  fc.assert(
    fc.property(fc.emailAddress(), (email) => {
      fc.pre(!email.startsWith('!'));
      expect(isEmail(email)).toBe(true);
      expect(isEmail(emailKey(email))).toBe(true);
    }),
  );
  expect(isEmail('Jörg@пример.example')).toBe(true);
  expect(isEmail(`${'a'.repeat(64)}@${'b'.repeat(255)}`)).toBe(true);
});

test.each([
  '',
  'ann',
  '@example.com',
  'ann@',
  'ann@b@example.com',
  'ann lee@example.com',
  'ann@example.com\n',
  '!ann@example.com',
  'ann\u0000@example.com',
  'ann\ud800@example.com',
  'ann\ufffd@example.com',
  `${'a'.repeat(65)}@${'b'.repeat(255)}`,
])('%j is no e-mail address', (text) => {
  expect(isEmail(text)).toBe(false);
});

test('control characters, lone surrogates and replacement characters are not printable', () => {
  for (const text of ['\u0000', 'a\tb', '\u007f', '\u0085', '\ud800', 'a\udc00', '\ufffd']) {
    expect(isPrintable(text)).toBe(false);
  }
  for (const text of ['', 'plain', 'naïve 東京 😀']) expect(isPrintable(text)).toBe(true);
});
