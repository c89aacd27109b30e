import fc from 'fast-check';
import { expect, test } from 'vitest';
import { anyCharacter } from '../testing/any-character.ts';
import { canonicalize, checkJson, type JsonValue } from './canonical.ts';
import { parseStrictJson } from './strict-json.ts';

// Not JSON.parse, which misreads escaped names (see strict-json.ts).
const parse = (text: string) => parseStrictJson(text).value as JsonValue;

const codesOf = (text: string) => checkJson(parse(text)).map(({ path, code }) => [path, code]);

const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);

test('the example of RFC 8785 section 3.2.2 has the canonical text printed there', () => {
  const input = String.raw`{
    "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
    "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
    "literals": [null, true, false]
  }`;
  // JSON.parse, because the example has numbers that a double changes.
  expect(canonicalize(JSON.parse(input))).toBe(
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
      String.raw`"string":"€$\u000f\nA'B\"\\\\\"/"}`,
  );
});

test('members are sorted by UTF-16 code units, as in RFC 8785 section 3.2.3', () => {
  const members = {
    '\u20ac': 'Euro Sign',
    '\r': 'Carriage Return',
    '\ufb33': 'Hebrew Letter Dalet With Dagesh',
    1: 'One',
    '😀': 'Emoji: Grinning Face',
    '\u0080': 'Control',
    '\u00f6': 'Latin Small Letter O With Diaeresis',
  };
  const keys = canonicalize(members).match(/"[^"]+"(?=:)/g);
  expect(keys).toEqual(['"\\r"', '"1"', '"\u0080"', '"ö"', '"€"', '"😀"', '"\ufb33"']);
});

test('numeric keys sort as text and __proto__ is an ordinary member', () => {
  const value = parse('{"toString":1,"__proto__":{"b":1,"a":2},"9":1,"10":2,"":3}');
  expect(canonicalize(value)).toBe('{"":3,"10":2,"9":1,"__proto__":{"a":2,"b":1},"toString":1}');
});

test('the order in which members arrive never changes the text, for few keys and for many', () => {
  const members = fc.uniqueArray(fc.tuple(fc.string({ unit: anyCharacter }), fc.nat()), {
    selector: ([key]) => key,
    maxLength: 40,
  });
  fc.assert(
    fc.property(members, (pairs) => {
      const text = canonicalize(Object.fromEntries(pairs));
      expect(canonicalize(Object.fromEntries(pairs.toReversed()))).toBe(text);
      expect(Object.keys(parse(text) as object).sort()).toEqual(pairs.map(([key]) => key).sort());
    }),
  );
});

test('parsing the canonical text gives the value back', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: anyCharacter }), (value) => {
      fc.pre(checkJson(value).every(({ code }) => code !== 'lone_surrogate'));
      // Through JSON.stringify because JSON has no -0.
      const expected = parse(JSON.stringify(value));
      expect(parse(canonicalize(value as JsonValue))).toEqual(expected);
    }),
  );
});

test('a value without a canonical text is refused instead of being replaced', () => {
  for (const value of [Number.NaN, Number.POSITIVE_INFINITY, 'a\ud800', { '\udc00': 1 }]) {
    expect(() => canonicalize({ list: [value] })).toThrow(TypeError);
  }
  expect(() => canonicalize([undefined] as unknown as JsonValue)).toThrow(TypeError);
  expect(canonicalize([-0, '😀', '\u2028'])).toBe('[0,"😀","\u2028"]');
});

test('a value that can be stored and proven has no problems', () => {
  const text = fc.string({ unit: 'grapheme' });
  const number = fc.oneof(fc.maxSafeInteger(), fc.double({ min: -1e15, max: 1e15, noNaN: true }));
  const values = [text, number, fc.boolean(), fc.constant(null)];
  fc.assert(
    fc.property(fc.object({ key: text, values, maxDepth: 5 }), (value) => {
      expect(checkJson(value)).toEqual([]);
    }),
  );
  expect(codesOf('[9007199254740991,-9007199254740991,0.1,"😀",null,true]')).toEqual([]);
});

test('lone surrogates and U+0000 are found in values and in member names, with their path', () => {
  expect(codesOf(String.raw`{"a/b":["x","\ud800"],"k\u0000":1,"n":"\u0000\udc00"}`)).toEqual([
    ['/a~1b/1', 'lone_surrogate'],
    ['/k\0', 'null_character'],
    ['/n', 'null_character'],
    ['/n', 'lone_surrogate'],
  ]);
});

test('32 containers inside one another are taken, 33 are not', () => {
  expect(codesOf(nested(32))).toEqual([]);
  expect(codesOf(nested(33))).toEqual([['/0'.repeat(32), 'too_deep']]);
  expect(codesOf(`${'{"a":'.repeat(33)}1${'}'.repeat(33)}`)).toEqual([
    ['/a'.repeat(32), 'too_deep'],
  ]);
});

test('an array a million levels deep is one problem, not a crash', () => {
  const deep = JSON.parse(nested(1_000_000));
  expect(checkJson(deep).map(({ code }) => code)).toEqual(['too_deep']);
});

test('no more than 50 problems are listed, in document order', () => {
  const many = Array.from({ length: 10_000 }, () => ['\0\ud800']);
  const problems = checkJson(many);
  expect(problems).toHaveLength(50);
  expect(problems[49]?.path).toBe('/24/0');
  expect(checkJson([0, ...many])[0]?.path).toBe('/1/0');
});
