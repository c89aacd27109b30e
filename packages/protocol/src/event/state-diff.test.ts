import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseStrictJson } from '../json/strict-json.ts';
import { type Diff, diffStates, type Scalar } from './state-diff.ts';

const parse = (text: string) => parseStrictJson(text).value as object;
const change = (from: Scalar, to: Scalar) => ({ from, to });

/** The leaves of one state by dotted path, written the plain way. */
function naiveLeaves(value: unknown, path: string, leaves = new Map<string, unknown>()) {
  const members = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  if (members.length > 0) for (const [k, v] of members) naiveLeaves(v, `${path}.${k}`, leaves);
  else
    leaves.set(
      path,
      Array.isArray(value) ? '[]' : value && typeof value === 'object' ? '{}' : value,
    );
  return leaves;
}

function naiveDiff(before: object, after: object): Diff {
  const [from, to] = [naiveLeaves(before, ''), naiveLeaves(after, '')];
  const paths = new Set([...from.keys(), ...to.keys()]);
  const changes = [...paths].map((path): [string, ReturnType<typeof change>] => [
    path.slice(1),
    change((from.get(path) ?? null) as Scalar, (to.get(path) ?? null) as Scalar),
  ]);
  return Object.fromEntries(changes.filter(([path, c]) => path !== '' && c.from !== c.to));
}

test('only leaves that differ are listed, by the path of names and elements', () => {
  const before = { name: 'Support', on: true, steps: [{ name: 'Greet', s: 3 }, { name: 'Queue' }] };
  const after = { name: 'Support', on: false, steps: [{ name: 'Greet', s: 4 }], limit: 5 };
  expect(diffStates(before, after)).toEqual({
    diff: {
      limit: change(null, 5),
      on: change(true, false),
      'steps[Greet].s': change(3, 4),
      'steps[Queue]': change('Queue', null),
    },
    truncated: false,
  });
});

test('a created state is all "to", a deleted one all "from"', () => {
  const state = { a: 1, b: { c: 'x' } };
  expect(diffStates(null, state).diff).toEqual({ a: change(null, 1), 'b.c': change(null, 'x') });
  expect(diffStates(state, null).diff).toEqual({ a: change(1, null), 'b.c': change('x', null) });
  expect(diffStates(null, null)).toEqual({ diff: {}, truncated: false });
});

test('null and absent are equal, and an empty container is a leaf of its own', () => {
  expect(diffStates({ a: null, b: [] }, { b: null }).diff).toEqual({ b: change('[]', null) });
  expect(diffStates({ a: {}, b: [] }, { a: { x: 1 } }).diff).toEqual({
    a: change('{}', null),
    'a.x': change(null, 1),
    b: change('[]', null),
  });
  expect(diffStates({ a: {} }, { a: [] }).diff).toEqual({ a: change('{}', '[]') });
  expect(diffStates({}, { a: 1 }).diff).toEqual({ a: change(null, 1) });
});

test('a value that becomes a container shows both its loss and the new leaves', () => {
  expect(diffStates({ a: 'x' }, { a: { length: 2, b: [1] } }).diff).toEqual({
    a: change('x', null),
    'a.b[1]': change(null, 1),
    'a.length': change(null, 2),
  });
});

test('a list that becomes an object is told by their sizes, and a text of brackets is quoted', () => {
  expect(diffStates({ a: [7, 8] }, { a: { 0: 7 } }).diff).toEqual({
    a: change('[2 elements]', '{1 member}'),
  });
  expect(diffStates({ a: '[]', b: {} }, { a: [], b: '{}' }).diff).toEqual({
    a: change('"[]"', '[]'),
    b: change('{}', '"{}"'),
  });
});

test('any two states without lists give the diff of their flattened leaves', () => {
  const key = fc.constantFrom(
    'a',
    'b',
    'constructor',
    '__proto__',
    'toString',
    'length',
    '10',
    '9',
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom<unknown>(null, 0, 1, '', 'x', true),
      fc.constant([]),
      fc.dictionary(key, tie('value'), { maxKeys: 4, noNullPrototype: true }),
    ),
  }));
  const state = fc.dictionary(key, value, { maxKeys: 5, noNullPrototype: true });
  fc.assert(
    fc.property(state, state, (before, after) => {
      expect(diffStates(before, after)).toEqual({
        diff: naiveDiff(before, after),
        truncated: false,
      });
    }),
    { numRuns: 300 },
  );
});

test('keys that every object inherits are plain members of states and diff', () => {
  const { diff } = diffStates(
    parse('{"__proto__":{"x":1},"constructor":2}'),
    parse('{"toString":3}'),
  );
  expect(JSON.stringify(diff)).toBe(
    '{"__proto__.x":{"from":1,"to":null},"constructor":{"from":2,"to":null},' +
      '"toString":{"from":null,"to":3}}',
  );
  const direct = diffStates(null, parse('{"__proto__":1}')).diff;
  expect(Object.entries(direct)).toEqual([['__proto__', change(null, 1)]]);
  expect(Object.getPrototypeOf(direct)).toBe(Object.prototype);
});

test('the first of too many fields are kept, in one order whatever the order of the keys', () => {
  const fields = Array.from({ length: 2_000 }, (_, i): [string, number] => [`f${i}`, i]);
  const sorted = fields
    .map(([name]) => name)
    .sort()
    .slice(0, 500);
  for (const order of [fields, fields.toReversed()]) {
    const { diff, truncated } = diffStates(null, Object.fromEntries(order));
    expect(Object.keys(diff)).toEqual(sorted);
    expect(truncated).toBe(true);
  }
  const steps = diffStates(null, { steps: fields.map(([, i]) => i) }).diff;
  expect(Object.keys(steps).slice(8, 11)).toEqual(['steps[8]', 'steps[9]', 'steps[10]']);
});

test('exactly as many fields as allowed are not truncated', () => {
  const list = Array.from({ length: 500 }, (_, i) => i + 1);
  expect(diffStates(null, { list }).truncated).toBe(false);
  expect(diffStates({ list }, { list: [...list, 0] }, 1)).toEqual({
    diff: { 'list[0]': change(null, 0) },
    truncated: false,
  });
  expect(diffStates(null, { list: [...list, 0] }).truncated).toBe(true);
});

test('texts over 32 KiB are cut between characters, and still count as different', () => {
  const common = `a${'😀'.repeat(8_192)}`;
  const { diff, truncated } = diffStates(
    { t: `${common}x` },
    { t: `${common}y`, u: 'é'.repeat(16_384) },
  );
  expect(truncated).toBe(true);
  const cut = `a${'😀'.repeat(8_191)}`;
  expect(diff.t).toEqual(change(cut, cut));
  expect(diff.u).toEqual(change(null, 'é'.repeat(16_384)));
  expect(diffStates(null, { u: 'é'.repeat(16_384) }).truncated).toBe(false);
});

test('names with dots, brackets or quotes are quoted, so no two leaves have one path', () => {
  const state = { a: { b: 1, 'b"': 2 }, 'a.b': 3, 'a[b]': 4, '': 5 };
  expect(diffStates(null, state)).toEqual({
    diff: {
      '[""]': change(null, 5),
      'a.b': change(null, 1),
      'a["b\\""]': change(null, 2),
      '["a.b"]': change(null, 3),
      '["a[b]"]': change(null, 4),
    },
    truncated: false,
  });
});

test('a leaf whose path has over 1,024 characters is reported as truncated', () => {
  const long = diffStates(null, { ['k'.repeat(1_023)]: { a: 1, bb: 2 }, ['k'.repeat(1_024)]: 3 });
  expect(Object.keys(long.diff)).toEqual(['k'.repeat(1_024)]);
  expect(long.truncated).toBe(true);
});
