import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  emailKey,
  isEmail,
  isPrintable,
  isRecordedEmail,
  isVisible,
  revealed,
  revealedLine,
} from './field-rules.ts';

test('every address that generators produce is an e-mail address', () => {
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
  ...['', 'ann', '@example.com', 'ann@', 'ann@b@example.com', 'ann lee@example.com'],
  ...['ann@example.com\n', '!ann@example.com', 'ann\u0000@example.com', 'ann\ud800@example.com'],
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

test('a text is visible when anything of it can be seen', () => {
  for (const text of ['x', '7', '.', '🔎', 'ü', '監', '\u3164x', '\u2801']) {
    expect(isVisible(text), text).toBe(true);
  }
  for (const text of [
    ...['', ' ', '\u00a0\u2003', '\u200b\ufeff', '\u3164\u115f\uffa0', '\u2800', '\u0000'],
  ]) {
    expect(isVisible(text), JSON.stringify(text)).toBe(false);
  }
});

test('an address with an invisible character is refused, for searching and for recording', () => {
  const unseen = [
    ...['\u200b', '\u200d', '\u2060', '\u202e', '\ufe0f', '\u{e0061}', '\u3164', '\u2800'],
  ];
  for (const character of unseen) {
    const address = `ana${character}@example.com`;
    expect([isEmail(address), isRecordedEmail(address)], JSON.stringify(address)).toEqual([
      false,
      false,
    ]);
    const point = character.codePointAt(0)?.toString(16).toUpperCase();
    expect(revealed(address)).toBe(`ana⟨U+${point}⟩@example.com`);
  }
  const ordinary = 'Çelik & Söhne, 東京, 🙂 👩🏽‍🚒 👨‍👩‍👧‍👦 🏴󠁧󠁢󠁳󠁣󠁴󠁿 ❤️\ntwo\tcolumns';
  expect(revealed(ordinary)).toBe(ordinary);
  expect(revealed('a\u001b[2J\u2028\ud800b\u200d')).toBe('a⟨U+001B⟩[2J⟨U+2028⟩⟨U+D800⟩b⟨U+200D⟩');
  expect(revealedLine('a\r\nb')).toBe('a⟨U+000D⟩⟨U+000A⟩b');
});
