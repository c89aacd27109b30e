import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalize, type JsonValue } from '../json/canonical.ts';
import { compareStates, diffStates, type Scalar } from './state-diff.ts';

const change = (from: Scalar, to: Scalar) => ({ from, to });
const diffOf = (before: unknown[], after: unknown[]) =>
  diffStates({ list: before }, { list: after }).diff;
const numbers = (from: number, count: number) => Array.from({ length: count }, (_, i) => from + i);

test('the removed and the changed person of a list are told by their id', () => {
  const person = (id: string, role: string) => ({ id, role });
  const before = [person('ana', 'admin'), person('bea', 'user'), person('carl', 'user')];
  expect(diffOf(before, [person('ana', 'admin'), person('carl', 'admin')])).toEqual({
    'list[bea]': change('bea', null),
    'list[bea].role': change('user', null),
    'list[carl].role': change('user', 'admin'),
  });
});

test('an object is known by its id, else its key, else its name', () => {
  for (const member of ['id', 'key', 'name']) {
    const item = (label: unknown, n: number) => ({ [member]: label, n, tags: ['x'] });
    const after = [item('new', 0), { ...item('a', 2), tags: ['w', 'x'] }, item(7, 1)];
    expect(diffOf([item('a', 1), item(7, 1)], after)).toEqual({
      'list[new]': change(null, 'new'),
      'list[new].n': change(null, 0),
      'list[new].tags[x]': change(null, 'x'),
      'list[a].n': change(1, 2),
      'list[a].tags[w]': change(null, 'w'),
    });
  }
});

test('a member that an element lacks or two elements share tells no element', () => {
  const twins = [
    { id: 1, name: 'a', n: 1 },
    { id: 1, name: 'b', n: 1 },
  ];
  expect(diffOf(twins, [{ id: 1, name: 'b', n: 2 }])).toEqual({
    'list[a]': change('a', null),
    'list[a].id': change(1, null),
    'list[a].n': change(1, null),
    'list[b].n': change(1, 2),
  });
  expect(diffOf([{ id: 1, n: 1 }, { n: 1 }], [{ id: 1, n: 1 }, { n: 2 }])).toEqual({
    'list.1.n': change(1, 2),
  });
});

test('scalars are a set: each value that came or went is one change', () => {
  expect(diffOf(numbers(0, 10_000), numbers(1, 10_000))).toEqual({
    'list[0]': change(0, null),
    'list[10000]': change(null, 10_000),
  });
});

test('two lists of over 20,000 elements are not compared; one of them is told by positions', () => {
  const [long, other] = [numbers(0, 10_001), numbers(1, 10_001)];
  expect(diffOf(long, other)).toEqual({
    list: change('[10,001 elements]', '[10,001 elements, not compared]'),
  });
  expect(diffOf(long, [...long])).toEqual({});
  const added = diffStates({}, { list: numbers(7, 20_001) });
  expect(added.truncated).toBe(true);
  expect(Object.entries(added.diff)[1]).toEqual(['list.1', change(null, 8)]);
  expect(Object.keys(diffStates({ list: numbers(7, 20_001) }, {}).diff)).toHaveLength(500);
});

test('a value is quoted in a path if it would read as another one, or as another path', () => {
  const before = [1, 'true', '', 'a]', 'a.b'];
  expect(Object.keys(diffOf(before, ['1', true]))).toEqual([
    'list[1]',
    'list["true"]',
    'list[""]',
    'list["a]"]',
    'list[a.b]',
    'list["1"]',
    'list[true]',
  ]);
});

test('a value that occurs more often, or a null that came, is told by its number', () => {
  expect(diffOf(['a', 'a', 'b'], ['b', 'a', null])).toEqual({
    'list[a]': change('2 times', '1 time'),
    'list[null]': change(null, '1 time'),
  });
});

test('another order is told as such, also beside other changes', () => {
  const reordered = change('[3 elements]', '[3 elements, in another order]');
  expect(diffOf(['a', 'b', 'c'], ['c', 'a', 'b'])).toEqual({ list: reordered });
  expect(diffOf(['a', 'b', 'a'], ['a', 'a', 'b'])).toEqual({ list: reordered });
  expect(diffOf([[1], [2], [3]], [[1], [3], [2]])).toEqual({ list: reordered });
  expect(
    diffOf([{ id: 1 }, { id: 2 }, { id: 3, n: 1 }], [{ id: 3, n: 2 }, { id: 2 }, { id: 4 }]),
  ).toEqual({
    list: reordered,
    'list[1]': change(1, null),
    'list[3].n': change(1, 2),
    'list[4]': change(null, 4),
  });
});

test('elements without identity are found by their value, and the others told by position', () => {
  const slot = (from: number, to: number) => ({ from, to });
  const [early, late] = [slot(8, 12), slot(14, 18)];
  expect(diffOf([early, late], [slot(6, 7), early, late])).toEqual({
    'list.0.from': change(null, 6),
    'list.0.to': change(null, 7),
  });
  expect(diffOf([early, late], [late])).toEqual({
    'list.0.from': change(8, null),
    'list.0.to': change(12, null),
  });
  expect(diffOf([early, late], [early, slot(14, 19)])).toEqual({ 'list.1.to': change(18, 19) });
  const text = 'x'.repeat(201);
  expect(diffOf([text, 'y'], ['y'])).toEqual({ 'list.0': change(text, null) });
});

test('very many elements without identity are counted, not compared by position', () => {
  const before = numbers(0, 1_500).map((n) => ({ n }));
  const after = [{ m: 0 }, ...before.map(({ n }) => ({ n, on: true }))];
  expect(diffOf(before, after)).toEqual({
    list: change('[1,500 elements]', '[1,501 elements, 1,501 new or changed]'),
  });
});

const valueWith = (...keys: string[]) =>
  fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom<unknown>(0, 1, '', 'x', true, '[]', '{}'),
      fc.array(tie('value'), { maxLength: 5 }),
      fc.dictionary(fc.constantFrom(...keys), tie('value'), { noNullPrototype: true }),
    ),
  })).value;

test('any difference of two states is told, and no two leaves have one path', () => {
  const state = fc.record({ list: valueWith('id', 'a', '0', 'a.b', 'a[x]') });
  fc.assert(
    fc.property(state, state, (before, after) => {
      const paths: string[] = [];
      compareStates(before, after, (path) => paths.push(path) > 0);
      expect(new Set(paths).size).toBe(paths.length);
      const { diff, truncated } = diffStates(before, after);
      const texts = [before, after].map((each) => canonicalize(each as JsonValue));
      expect(Object.keys(diff).length === 0).toBe(texts[0] === texts[1]);
      expect(truncated).toBe(false);
      for (const { from, to } of Object.values(diff)) expect(from).not.toBe(to);
    }),
    { numRuns: 500 },
  );
});

test('an element put in or taken out anywhere is all that a diff of the two lists tells', () => {
  const value = valueWith('a', 'b'); // two of one id would be the same element
  fc.assert(
    fc.property(fc.array(value, { maxLength: 6 }), fc.nat(), value, (elements, place, element) => {
      const at = place % (elements.length + 1);
      const longer = elements.toSpliced(at, 0, element);
      const sizes = [diffOf(elements, longer), diffOf(longer, elements)].map(
        (diff) => Object.keys(diff).length,
      );
      const emptied = elements.length === 0 ? 1 : 0; // `[]` is a leaf too
      expect(Math.max(...sizes)).toBeLessThanOrEqual(leafCount(element) + emptied);
    }),
    { numRuns: 300 },
  );
});

function leafCount(element: unknown): number {
  let count = 0;
  compareStates(null, { element }, () => {
    count += 1;
    return true;
  });
  return count;
}
