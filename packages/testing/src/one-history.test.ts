import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { naiveRoot } from './intact.ts';
import { findForks, leafHashOf, prefixRoots } from './one-history.ts';

const leaves = (name: string, count: number) =>
  Array.from({ length: count }, (_, n) =>
    leafHashOf(
      createHash('md5')
        .update(name + n)
        .digest(),
    ),
  );

const origin = 'a.example/l/0123456789abcdef0123456789abcdef';
const first = leaves('first', 300);
/** The log with another future after its first 100 entries. */
const second = [...first.slice(0, 100), ...leaves('second', 200)];

const seen = (of: Buffer[], ...sizes: number[]) =>
  sizes.map((size) => {
    const root = prefixRoots(of, [size]).get(size) ?? Buffer.alloc(32);
    return { origin, size, root, where: `round ${size}` };
  });
const histories = [first, second];

test('the root of every prefix is that of the definition', () => {
  const sizes = [0, 1, 2, 3, 7, 8, 9, 100, 255, 256, 257, 300];
  const roots = prefixRoots(first, sizes);
  for (const size of sizes) expect(roots.get(size)).toEqual(naiveRoot(first.slice(0, size)));
  expect(prefixRoots(first, [301]).size).toBe(0);
});

test('checkpoints of one history agree, whichever it is', () => {
  expect(findForks([seen(first, 1, 99, 100, 101, 300)], histories)).toEqual([]);
  expect(findForks([seen(second, 100, 100, 300)], histories)).toEqual([]);
});

test('checkpoints of two futures are a fork, though each is larger than the one before', () => {
  const forked = [...seen(first, 100, 101), ...seen(second, 102)];
  expect(findForks([forked], histories)).toEqual([
    `${origin}: no history of the others holds the checkpoint of 102 entries in round 102`,
  ]);
  expect(findForks([seen(first, 101), seen(second, 101)], histories)).toHaveLength(1);
});

test('a checkpoint that is smaller than one the same witness saw earlier is a finding', () => {
  expect(findForks([seen(first, 200), seen(first, 150)], histories)).toEqual([]);
  expect(findForks([seen(first, 200, 150)], histories)).toEqual([
    `${origin}: the checkpoint of 150 entries in round 150 comes after the checkpoint of 200 entries in round 200`,
  ]);
});

test('an origin without kept entries is a finding, for nothing was compared', () => {
  expect(findForks([seen(first, 7)], [])).toHaveLength(1);
  expect(findForks([seen(first, 7)], [first.slice(0, 6)])).toHaveLength(1);
});
