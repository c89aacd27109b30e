import { hash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  createFrontier,
  emptyLogState,
  emptyRoot,
  type LogState,
  leafHash,
  nodeHash,
  type Sha256,
  subtreeRoot,
} from './merkle.ts';

const sha: Sha256 = (data) => hash('sha256', data, 'buffer');
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

/** MTH of RFC 6962 section 2.1, word for word. */
function naiveRoot(leaves: Uint8Array[]): Uint8Array {
  const [only] = leaves;
  if (only === undefined) return sha(new Uint8Array(0));
  if (leaves.length === 1) return only;
  let k = 1;
  while (k * 2 < leaves.length) k *= 2;
  const sides = [naiveRoot(leaves.slice(0, k)), naiveRoot(leaves.slice(k))];
  return sha(Buffer.concat([Uint8Array.of(1), ...sides]));
}

const leavesOf = (count: number) =>
  Array.from({ length: count }, (_, i) => leafHash(sha, Uint8Array.of(i % 256, i >> 8)));

test('the published test vectors of Certificate Transparency give the published roots', () => {
  const bytes = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657'];
  const inputs = [...bytes, '606162636465666768696a6b6c6d6e6f'];
  const tree = createFrontier(emptyLogState, sha);
  const roots = [hex(tree.root())];
  for (const input of inputs) {
    tree.append(leafHash(sha, Buffer.from(input, 'hex')));
    roots.push(hex(tree.root()));
  }
  expect(roots).toEqual([
    'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
    'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
    'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
    'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
    '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
    '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
    'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
    '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
  ]);
  expect(roots[0]).toBe(hex(emptyRoot(sha)));
});

test('the root after every append is the root of a tree built plainly', () => {
  const leaves = leavesOf(70);
  const tree = createFrontier(emptyLogState, sha);
  for (const [index, leaf] of leaves.entries()) {
    tree.append(leaf);
    expect(hex(tree.root())).toBe(hex(naiveRoot(leaves.slice(0, index + 1))));
  }
});

test('batches of any size, up to 2,000 entries, give the root of a tree built plainly after each', () => {
  const leaves = leavesOf(2_000);
  const batches = fc.array(fc.nat(700), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(batches, (counts) => {
      let state: LogState = emptyLogState;
      for (const count of counts) {
        const end = Math.min(state.size + count, leaves.length);
        const tree = createFrontier(state, sha);
        for (const leaf of leaves.slice(state.size, end)) tree.append(leaf);
        expect(hex(tree.root())).toBe(hex(naiveRoot(leaves.slice(0, end))));
        state = tree.state();
      }
    }),
    { numRuns: 20 },
  );
});

test('a log saved and continued at any size is the log appended to in one go', () => {
  const leaves = leavesOf(300);
  fc.assert(
    fc.property(fc.nat(300), fc.nat(300), (a, b) => {
      const [cut, size] = [Math.min(a, b), Math.max(a, b)];
      const before = createFrontier(emptyLogState, sha);
      for (const leaf of leaves.slice(0, cut)) before.append(leaf);
      // A Buffer, as a database driver gives it.
      const frontier = Buffer.from(before.state().frontier);
      const after = createFrontier({ size: cut, frontier }, sha);
      frontier.fill(0);
      for (const leaf of leaves.slice(cut, size)) after.append(leaf);
      expect(after.state().size).toBe(size);
      expect(hex(after.root())).toBe(hex(naiveRoot(leaves.slice(0, size))));
    }),
  );
});

test('every completed subtree is announced once, smallest first, with its root', () => {
  const leaves = leavesOf(37);
  const seen: string[] = [];
  const tree = createFrontier(emptyLogState, sha, (level, index, subtree) => {
    const span = leaves.slice(index * 2 ** level, (index + 1) * 2 ** level);
    expect(span).toHaveLength(2 ** level);
    expect(hex(subtree)).toBe(hex(naiveRoot(span)));
    seen.push(`${level}/${index}`);
  });
  for (const leaf of leaves) tree.append(leaf);
  expect(seen.slice(0, 7)).toEqual(['0/0', '0/1', '1/0', '0/2', '0/3', '1/1', '2/0']);
  expect(new Set(seen).size).toBe(seen.length);
  expect(seen).toHaveLength(37 + 18 + 9 + 4 + 2 + 1);
});

test('a log larger than 32 bits of leaves is appended to like a small one', () => {
  // All leaves alike, so that each complete subtree of one level has the same root.
  const levels = [leafHash(sha, new Uint8Array(60))];
  for (let l = 0; l < 52; l += 1) levels.push(nodeHash(sha, level(l), level(l)));
  function level(l: number): Uint8Array {
    return levels[l] as Uint8Array;
  }
  const stateOf = (bits: number[]) => ({
    size: bits.reduce((sum, bit) => sum + 2 ** bit, 0),
    frontier: Buffer.concat(bits.map(level)),
  });
  const announced: [number, number][] = [];
  const tree = createFrontier(stateOf([40, 33, 2, 1, 0]), sha, (l, i) => announced.push([l, i]));
  tree.append(level(0));
  expect(tree.state()).toEqual({ size: 2 ** 40 + 2 ** 33 + 8, frontier: expect.anything() });
  expect(hex(tree.state().frontier)).toBe(hex(stateOf([40, 33, 3]).frontier));
  expect(announced.at(-1)).toEqual([3, (2 ** 40 + 2 ** 33) / 8]);
  const right = nodeHash(sha, level(33), level(3));
  expect(hex(tree.root())).toBe(hex(nodeHash(sha, level(40), right)));

  const allBits = Array.from({ length: 53 }, (_, i) => 52 - i);
  const full = createFrontier(stateOf(allBits), sha);
  expect(full.state().size).toBe(Number.MAX_SAFE_INTEGER);
  expect(() => full.append(level(0))).toThrow(RangeError);
});

test('a state that contradicts itself, and a leaf that is no hash, are refused', () => {
  for (const [size, bytes] of [
    [1, 0],
    [0, 32],
    [3, 32],
    [2 ** 32, 0],
    [2 ** 33 + 1, 32],
    [1, 33],
  ]) {
    const state = { size: size as number, frontier: new Uint8Array(bytes as number) };
    expect(() => createFrontier(state, sha)).toThrow(RangeError);
  }
  for (const size of [-1, 0.5, 2 ** 53, Number.NaN]) {
    expect(() => createFrontier({ size, frontier: new Uint8Array(32) }, sha)).toThrow(RangeError);
  }
  expect(() => createFrontier(emptyLogState, sha).append(new Uint8Array(31))).toThrow(RangeError);
  expect(() => nodeHash(sha, new Uint8Array(32), new Uint8Array(64))).toThrow(RangeError);
});

test('the root of 2^k hashes is that of the plain tree, and other numbers are refused', () => {
  for (const count of [1, 2, 4, 8, 256]) {
    const leaves = leavesOf(count);
    expect(hex(subtreeRoot(sha, leaves))).toBe(hex(naiveRoot(leaves)));
  }
  for (const count of [0, 3, 6, 255, 384]) {
    expect(() => subtreeRoot(sha, leavesOf(count))).toThrow(RangeError);
  }
});
