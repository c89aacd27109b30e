import fc from 'fast-check';
import { expect, test } from 'vitest';
import { anyCharacter } from '../../protocol/src/testing/any-character.ts';
import { jsonLine, plainReasons, shortened, visible } from './text.ts';

const anyText = fc.string({ unit: anyCharacter });

test('no control character, line break, direction mark or half of a pair reaches a terminal', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const shown = visible(text) + jsonLine(text).slice(0, -1);
      expect(shown).not.toMatch(/[\p{Cc}\p{Cs}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u);
    }),
  );
  expect(visible('a\u001b[2J\r\n\u009b31m\u202eb')).toBe(
    'a⟨U+001B⟩[2J⟨U+000D⟩⟨U+000A⟩⟨U+009B⟩31m⟨U+202E⟩b',
  );
});

test('ordinary text of any language is shown as it is', () => {
  const text = 'Çelik & Söhne, 東京, “quotes”, C:\\temp, 🙂';
  expect(visible(text)).toBe(text);
});

test('JSON lines keep their value whatever was escaped', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      expect(JSON.parse(jsonLine({ text }))).toEqual({ text });
    }),
  );
});

test('long text is cut between characters, and says that it was', () => {
  expect(shortened('Support', 7)).toBe('Support');
  expect(shortened('Support team', 7)).toBe('Suppor…');
  expect(shortened('🙂🙂🙂', 2)).toBe('🙂…');
});

test('errors of the system lose their code and call, and keep a file that is not named before', () => {
  for (const [raw, plain] of [
    [
      "a.json cannot be read: ENOENT: no such file, open 'a.json'",
      'a.json cannot be read: no such file',
    ],
    ["EACCES: permission denied, open '/x/y'", '/x/y: permission denied'],
    [
      "/x cannot be written: EROFS: read-only, mkdtemp '/x/.p-X'.",
      '/x cannot be written: read-only.',
    ],
    ["EXDEV: cross-device, rename 'a' -> 'b'", 'a to b: cross-device'],
    ['ENOSPC: no space left on device, write', 'no space left on device'],
    ['connect ECONNREFUSED 127.0.0.1:2', 'connect ECONNREFUSED 127.0.0.1:2'],
  ] as const) {
    expect(plainReasons(raw)).toBe(plain);
  }
});
