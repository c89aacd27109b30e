import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compareStates, diffStates, type Scalar } from './state-diff.ts';

const change = (from: Scalar, to: Scalar) => ({ from, to });
const diffOf = (before: unknown[], after: unknown[]) =>
  diffStates({ list: before }, { list: after }).diff;

test('an inserted element is one change, at its index in the new list', () => {
  expect(diffOf(['a', 'b', 'c'], ['a', 'x', 'b', 'c'])).toEqual({ 'list.1': change(null, 'x') });
  const item = (id: number, label: string) => ({ id, label });
  const [dogs, cats] = [item(1, 'Dogs'), item(2, 'Cats')];
  expect(diffOf([dogs, cats], [item(3, 'Birds'), dogs, cats])).toEqual({
    'list.0.id': change(null, 3),
    'list.0.label': change(null, 'Birds'),
  });
});

test('a removed element is one change, at its index in the old list', () => {
  expect(diffOf(['a', 'b', 'c'], ['b', 'c'])).toEqual({ 'list.0': change('a', null) });
  expect(diffOf([[1], [2], [3]], [[1], [3]])).toEqual({ 'list.1.0': change(2, null) });
});

test('an object is known by its id, else its key, however it changed', () => {
  const before = [
    { id: 'a', n: 1, tags: ['x'] },
    { key: 7, n: 1 },
  ];
  const after = [
    { id: 'new', n: 0 },
    { id: 'a', n: 2, tags: ['w', 'x'] },
    { key: 7, n: 2 },
  ];
  expect(diffOf(before, after)).toEqual({
    'list.0.id': change(null, 'new'),
    'list.0.n': change(null, 0),
    'list.1.n': change(1, 2),
    'list.1.tags.0': change(null, 'w'),
    'list.2.n': change(1, 2),
  });
});

test('elements that replace others do so in order', () => {
  expect(diffOf([1, 2, 3, 4], [1, 8, 9, 4])).toEqual({
    'list.1': change(2, 8),
    'list.2': change(3, 9),
  });
});

test('where two elements would have one index, all are compared by index', () => {
  const item = (id: number, n: number) => ({ id, n });
  const after = [item(2, 1), item(3, 5), item(4, 1)];
  expect(diffOf([item(1, 1), item(2, 1), item(3, 1), item(4, 1)], after)).toEqual({
    'list.0.id': change(1, null),
    'list.0.n': change(1, null),
    'list.1.n': change(1, 5),
  });
  expect(diffOf([item(1, 1), item(2, 1)], [item(2, 5)])).toEqual({
    'list.0.id': change(1, 2),
    'list.0.n': change(1, 5),
    'list.1.id': change(2, null),
    'list.1.n': change(1, null),
  });
});

test('lists of any length are compared at a limited cost, and nothing of them is lost', () => {
  const long = (n: number, first: number) => Array.from({ length: n }, (_, i) => first + i);
  const { diff } = diffStates({ list: long(3_000, 0) }, { list: [-1, ...long(3_000, 0)] });
  expect(diff).toEqual({ 'list.0': change(null, -1) });
  const other = diffStates({ list: long(900, 0) }, { list: long(900, 5_000) }, 2_000).diff;
  expect(Object.keys(other)).toHaveLength(900);
  const apart = diffStates({ list: long(6_000, 0) }, { list: [-1, ...long(6_000, 0), -2] });
  expect(apart.truncated).toBe(true);
});

const valueWith = (...keys: string[]) =>
  fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom<unknown>(0, 1, '', 'x', true),
      fc.array(tie('value'), { maxLength: 5 }),
      fc.dictionary(fc.constantFrom(...keys), tie('value'), { noNullPrototype: true }),
    ),
  })).value;

/** How often each leaf occurs, whatever the indices of its path. */
function leavesOf(state: object): Map<string, number> {
  const counts = new Map<string, number>();
  compareStates(null, state, (path, _, leaf) => {
    const name = `${path.replaceAll(/\.\d+/g, '.*')} ${JSON.stringify(leaf)}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
    return true;
  });
  return counts;
}

test('a diff holds exactly the leaves that one state has and the other has not', () => {
  const list = fc.array(valueWith('id', 'a', 'b'), { maxLength: 6 });
  fc.assert(
    fc.property(list, list, (before, after) => {
      const { diff, truncated } = diffStates({ list: before }, { list: after });
      expect(truncated).toBe(false);
      const counts = leavesOf({ list: before });
      for (const [path, { from, to }] of Object.entries(diff)) {
        const name = path.replaceAll(/\.\d+/g, '.*');
        for (const [leaf, by] of [
          [from, -1],
          [to, 1],
        ] as const) {
          const key = `${name} ${JSON.stringify(leaf)}`;
          if (leaf !== null) counts.set(key, (counts.get(key) ?? 0) + by);
        }
      }
      const left = [...counts].filter(([, count]) => count !== 0);
      expect(new Map(left)).toEqual(leavesOf({ list: after }));
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
    { numRuns: 500 },
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
