import fc from 'fast-check';
import { expect, test } from 'vitest';
import { plainJson } from './plain-json.ts';

test('what JSON makes of a value is what leaves, whatever the value is made of', () => {
  const odd = fc.constantFrom(
    undefined,
    Number.NaN,
    -0,
    Symbol('s'),
    () => 1,
    new Date(0),
    new Map(),
  );
  const value = fc.object({
    values: [fc.string(), fc.double(), fc.boolean(), fc.constant(null), odd],
  });
  fc.assert(
    fc.property(value, (given) => {
      expect(plainJson(given)).toEqual(JSON.parse(JSON.stringify(given)));
    }),
  );
});

test('objects that say themselves what they are in JSON are believed', () => {
  const model = { password: 'x', toJSON: () => ({ name: 'Sales' }) };
  expect(plainJson({ model, at: new Date(0), boxed: Object('text') })).toEqual({
    model: { name: 'Sales' },
    at: '1970-01-01T00:00:00.000Z',
    boxed: 'text',
  });
  expect(plainJson([undefined, () => 1])).toEqual([null, null]);
  expect(plainJson(undefined)).toBe(null);
});

test('a member called __proto__ is a member, and changes no prototype', () => {
  const made = plainJson(JSON.parse('{"__proto__":{"admin":true}}')) as object;
  expect(Object.keys(made)).toEqual(['__proto__']);
  expect(Object.getPrototypeOf(made)).toBe(Object.prototype);
});

test('what JSON cannot hold is told, and does not end the process', () => {
  const circle: unknown[] = [];
  circle.push(circle);
  expect(() => plainJson(circle)).toThrow(TypeError);
  expect(() => plainJson({ amount: 1n })).toThrow('JSON has no BigInt');
});
