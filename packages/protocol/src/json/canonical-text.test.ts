import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalize, type JsonObject } from './canonical.ts';
import { endOfCanonicalObject } from './canonical-text.ts';
import { parseStrictJson } from './strict-json.ts';

const isTaken = (text: string) =>
  text.isWellFormed() && endOfCanonicalObject(text, 0) === text.length;

/** The slow way to the same answer. */
function isCanonical(text: string): boolean {
  try {
    const { value, duplicateKeys } = parseStrictJson(text);
    return duplicateKeys.length === 0 && canonicalize(value as JsonObject) === text;
  } catch {
    return false;
  }
}

const pieces = fc.constantFrom(
  ...[
    ...['{', '}', '[', ']', '"', ':', ',', ' ', '\\', 'a', 'b', 'null', 'true', 'tru', '😀'],
    '\ud800',
  ],
  ...[
    ...['0', '-0', '01', '1', '-1', '1.0', '1.5', '1e3', '1e+30', '1E30', '9007199254740993', '-'],
    '.',
  ],
  ...[
    ...['"a":', '"b":', '"a":1', '"b":2', '\\n', '\\u000a', '\\u001f', '\\u001F', '\\/', '\n'],
    '\u2028',
  ],
);

test('no text is taken for canonical that parsing and writing again would change', () => {
  const text = fc.array(pieces, { maxLength: 8 }).map((parts) => `{${parts.join('')}}`);
  fc.assert(
    fc.property(text, (each) => {
      if (isTaken(each)) expect(isCanonical(each)).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});

test('a canonical object is taken, with the same end whatever follows, and damaged it never is', () => {
  const text = fc.string({ unit: 'grapheme' });
  const key = text.filter((name) => JSON.stringify(name) === `"${name}"`);
  const values = [text, fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constant(null)];
  const object = fc.object({ key, values, maxDepth: 3 });
  fc.assert(
    fc.property(object, pieces, fc.nat(), (value, piece, seed) => {
      const text = canonicalize(value as JsonObject);
      expect(endOfCanonicalObject(text, 0)).toBe(text.length);
      expect(endOfCanonicalObject(`,${text},"x"`, 1)).toBe(text.length + 1);
      const at = seed % text.length;
      const damaged = text.slice(0, at) + piece + text.slice(at + (seed % 3));
      if (isTaken(damaged)) expect(isCanonical(damaged)).toBe(true);
    }),
  );
});

test('names out of order or repeated, other spellings and loose ends are left to the full reader', () => {
  const canonical = ['{}', '{"a":[],"b":{}}', '{"":[1,{"a":null}],"10":"\\"\\\\\\n","9":1.5e-7}'];
  expect(canonical.filter((text) => !isTaken(text))).toEqual([]);
  const other = ['{"b":1,"a":1}', '{"a":1,"a":1}', '{"a":1,}', '{,}', '{"a":[1,]}', '{"a":01}'];
  const spelled = ['{ }', '{"a":1.0}', '{"a":-0}', '{"a":"\\/"}', '{"a":"\\u0041"}', '{"a":"\t"}'];
  const rest = ['{"a"}', '{"a":}', '{"\\n":1}', '[]', '', '{', '{"a":"', '{"a":1', '{"a":nul}'];
  expect([...other, ...spelled, ...rest, '{"a":e-3}'].filter(isTaken)).toEqual([]);
});

test('32 levels are taken, 33 and a million are not', () => {
  const nested = (levels: number) => `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`;
  expect([nested(32), nested(33), nested(1_000_000)].map(isTaken)).toEqual([true, false, false]);
});
