import fc from 'fast-check';
import { expect, test } from 'vitest';
import { anyCharacter } from '../testing/any-character.ts';
import { readJson } from './json-reader.ts';

test('any JSON value is read as it was written, whatever the spacing', () => {
  const value = fc.jsonValue({ stringUnit: anyCharacter });
  fc.assert(
    fc.property(value, fc.constantFrom('', ' ', '\t', '\n'), (written, gap) => {
      const text = `${gap}${JSON.stringify(written, null, gap)}${gap}`;
      const { value, duplicateKeys } = readJson(text);
      expect(JSON.stringify(value)).toBe(JSON.stringify(written));
      expect(duplicateKeys).toEqual([]);
    }),
  );
});

test('every spelling of a scalar is read, inside containers and alone', () => {
  const scalars = ['0', '-0', '1.50', '1E+2', '-2e-3', '1e400', 'true', 'false', 'null', '""'];
  for (const scalar of [...scalars, '"\\\\"', '"\\"}"', '"\\ud83d\\ude00"']) {
    const value = JSON.parse(scalar) as unknown;
    expect(readJson(scalar).value).toEqual(value);
    expect(readJson(`[${scalar},{"a":${scalar}},[${scalar}]]`).value).toEqual([
      value,
      { a: value },
      [value],
    ]);
  }
});

test('of a repeated member the last value is kept at the place of the first', () => {
  const { value, duplicateKeys } = readJson('{"a":1,"b":{"x":1,"x":2},"a":[3]}');
  expect(JSON.stringify(value)).toBe('{"a":[3],"b":{"x":2}}');
  expect(duplicateKeys).toEqual(['/b/x', '/a']);
});

test('__proto__ becomes an ordinary member and never the prototype', () => {
  const value = readJson('{"__proto__":{"polluted":1},"a":{"__proto__":null}}').value as object;
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  expect(JSON.stringify(value)).toBe('{"__proto__":{"polluted":1},"a":{"__proto__":null}}');
  expect('polluted' in value).toBe(false);
});
