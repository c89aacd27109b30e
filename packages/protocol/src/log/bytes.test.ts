import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  decodeUtf8,
  encodeUtf8,
  equalBytes,
  FormatError,
  formatBase64,
  formatHex,
  parseBase64,
  parseHex,
} from './bytes.ts';

const bytes = fc.uint8Array({ maxLength: 100 });

test('bytes go into hexadecimal and base64 and come back', () => {
  fc.assert(
    fc.property(bytes, (value) => {
      expect(formatHex(value)).toBe(Buffer.from(value).toString('hex'));
      expect(parseHex(formatHex(value))).toEqual(value);
      expect(formatBase64(value)).toBe(Buffer.from(value).toString('base64'));
      expect(parseBase64(formatBase64(value))).toEqual(value);
    }),
  );
});

test('the examples of RFC 4648 section 10 are written as published', () => {
  const pairs = ['', 'Zg==', 'Zm8=', 'Zm9v', 'Zm9vYg==', 'Zm9vYmE=', 'Zm9vYmFy'];
  for (const [length, text] of pairs.entries()) {
    expect(formatBase64(Buffer.from('foobar'.slice(0, length)))).toBe(text);
    expect(Buffer.from(parseBase64(text) ?? []).toString()).toBe('foobar'.slice(0, length));
  }
});

test('every value that is read has exactly one spelling', () => {
  const text = fc.oneof(fc.string(), fc.stringMatching(/^[A-Za-z0-9+/]{0,9}={0,3}$/));
  fc.assert(
    fc.property(text, (text) => {
      const [hex, base64] = [parseHex(text), parseBase64(text)];
      if (hex !== null) expect(formatHex(hex)).toBe(text);
      if (base64 !== null) expect(formatBase64(base64)).toBe(text);
    }),
  );
  for (const second of ['0A', '0g', '0', ' 00', '00\n', '٠٠', '0x']) {
    expect(parseHex(second)).toBeNull();
  }
  for (const second of ['Zg', 'Zg=', 'Zh==', 'Zm9=', 'Z', '====', 'Zg==Zg==', 'Zm9-', 'Zm9v\n']) {
    expect(parseBase64(second)).toBeNull();
  }
});

test('bytes are equal when all of them are', () => {
  fc.assert(
    fc.property(bytes, bytes, (a, b) => {
      expect(equalBytes(a, new Uint8Array(a))).toBe(true);
      expect(equalBytes(a, b)).toBe(Buffer.compare(a, b) === 0);
    }),
  );
});

test('text that is not Unicode is refused by name, and a byte order mark is kept', () => {
  expect(decodeUtf8(Uint8Array.of(0xef, 0xbb, 0xbf, 0x61), 'it')).toBe('\ufeffa');
  expect(() => decodeUtf8(Uint8Array.of(0xff), 'the note')).toThrow(
    new FormatError('the note is not UTF-8'),
  );
  expect(() => decodeUtf8('\ud800', 'the note')).toThrow(FormatError);
  expect(() => encodeUtf8('\udfff', 'the note')).toThrow(FormatError);
});
