import fc from 'fast-check';
import { expect, test } from 'vitest';
import { diffOf, plainJson } from './plain-json.ts';

test('a value leaves the client as JSON writes it, whatever it is made of', () => {
  const odd = fc.constantFrom(
    undefined,
    Number.NaN,
    -0,
    Symbol('s'),
    () => 1,
    new Date(0),
    new WeakMap(),
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

test('a set is a list, a map an object or a list, a pattern its text, an error its name and message', () => {
  class Refused extends Error {
    override readonly name = 'Refused';
    readonly code = 7;
  }
  const given = {
    tags: new Set(['a', new Date(0), undefined]),
    byName: new Map([['b', new Map([[1, new Set()]])]]),
    byObject: new Map([[{ id: 1 }, 'x']]),
    pattern: /^a\/b$/giu,
    error: new Refused('no', { cause: 1n }),
  };
  expect(plainJson(given)).toEqual({
    tags: ['a', '1970-01-01T00:00:00.000Z', null],
    byName: { b: { 1: [] } },
    byObject: [[{ id: 1 }, 'x']],
    pattern: '/^a\\/b$/giu',
    error: { name: 'Refused', message: 'no', code: 7 },
  });
  const own = Object.assign(new Map([['a', 1]]), { toJSON: () => 'itself' });
  expect(plainJson(own)).toBe('itself');
  const secret = { before: new Map([['password', 's3cret']]), after: new Map() };
  expect(diffOf(secret.before, secret.after)).toEqual({ password: { from: '[masked]', to: null } });
  const mixed = new Map<unknown, string>([
    [{ id: 1 }, 'x'],
    ['password', 's3cret'],
  ]);
  expect(JSON.stringify(diffOf(null, { mixed }))).not.toContain('s3cret');
});

test('a member called __proto__ is a member, and changes no prototype', () => {
  const made = plainJson(JSON.parse('{"__proto__":{"admin":true}}')) as object;
  expect(Object.keys(made)).toEqual(['__proto__']);
  expect(Object.getPrototypeOf(made)).toBe(Object.prototype);
});

test('a value that JSON cannot hold is reported with its path, and does not end the process', () => {
  const circle: unknown[] = [];
  circle.push(circle);
  const thrower = (value: unknown) => ({
    get price() {
      throw value;
    },
  });
  const whole = Proxy.revocable({}, {});
  whole.revoke();
  for (const [value, message] of [
    [circle, '/0/0/0/0/0/0/0/0 is nested over 200 levels, or contains itself'],
    [{ lines: [{ amount: 1n }] }, '/lines/0/amount is a BigInt: send it as a text'],
    [1n, '/ is a BigInt'],
    [{ after: thrower(new Error('no rate')) }, '/after/price cannot be read: no rate'],
    [{ after: thrower(null) }, '/after/price cannot be read: null'],
    [{ after: thrower(Object.create(null)) }, '/after/price cannot be read: '],
    [whole.proxy, '/ cannot be read: '],
  ] as const) {
    expect(() => plainJson(value)).toThrow(TypeError);
    expect(() => plainJson(value)).toThrow(message);
  }
});
