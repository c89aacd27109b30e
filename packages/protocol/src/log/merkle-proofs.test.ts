import { hash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  createFrontier,
  emptyRoot,
  leafHash,
  nodeHash,
  type Sha256,
  subtreeRoot,
} from './merkle.ts';
import {
  type ConsistencyClaim,
  consistencyProof,
  type GetNode,
  type InclusionClaim,
  inclusionProof,
  verifyConsistency,
  verifyInclusion,
} from './merkle-proofs.ts';

const sha: Sha256 = (data) => hash('sha256', data, 'buffer');
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

const inputs = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657'];
const published = [...inputs, '606162636465666768696a6b6c6d6e6f'].map((input) =>
  leafHash(sha, Buffer.from(input, 'hex')),
);
const sizeMax = 600;
const leaves = Array.from({ length: sizeMax }, (_, i) => leafHash(sha, Buffer.from(String(i))));

const nodesOf =
  (list: Uint8Array[]): GetNode =>
  async (level, index) => {
    const span = list.slice(index * 2 ** level, (index + 1) * 2 ** level);
    expect(span).toHaveLength(2 ** level);
    return subtreeRoot(sha, span);
  };

const split = (count: number) => 2 ** Math.ceil(Math.log2(count) - 1);

/** MTH, PATH and SUBPROOF of RFC 6962 section 2.1, word for word. */
function mth(list: Uint8Array[]): Uint8Array {
  if (list.length < 2) return list[0] ?? emptyRoot(sha);
  const k = split(list.length);
  return nodeHash(sha, mth(list.slice(0, k)), mth(list.slice(k)));
}

function naivePath(m: number, list: Uint8Array[]): Uint8Array[] {
  if (list.length === 1) return [];
  const k = split(list.length);
  const [left, right] = [list.slice(0, k), list.slice(k)];
  return m < k ? [...naivePath(m, left), mth(right)] : [...naivePath(m - k, right), mth(left)];
}

function naiveSubproof(m: number, list: Uint8Array[], whole: boolean): Uint8Array[] {
  if (m === list.length) return whole ? [] : [mth(list)];
  const k = split(list.length);
  const [left, right] = [list.slice(0, k), list.slice(k)];
  if (m <= k) return [...naiveSubproof(m, left, whole), mth(right)];
  return [...naiveSubproof(m - k, right, false), mth(left)];
}

const ordered = fc
  .tuple(fc.nat(sizeMax), fc.nat(sizeMax))
  .map(([a, b]) => [Math.min(a, b), Math.max(a, b)]);

async function inclusionClaim(index: number, size: number): Promise<InclusionClaim> {
  const path = await inclusionProof(sha, nodesOf(leaves), index, size);
  const root = mth(leaves.slice(0, size));
  return { leafHash: leaves[index] as Uint8Array, index, size, path, root };
}

async function consistencyClaim(first: number, second: number): Promise<ConsistencyClaim> {
  const path = await consistencyProof(sha, nodesOf(leaves), first, second);
  const [firstRoot, secondRoot] = [first, second].map((n) => mth(leaves.slice(0, n)));
  return { first, second, path, firstRoot, secondRoot } as ConsistencyClaim;
}

const flipped = (bytes: Uint8Array) =>
  Uint8Array.from(bytes, (byte, i) => (i === 7 ? byte ^ 1 : byte));

/**
 * Every path with one element changed, left out or doubled, and with one more at either end, such
 * as a root: what the probes of github.com/transparency-dev/merkle (testdata/inclusion and
 * testdata/consistency) do to a path.
 */
function tamperedPaths(path: readonly Uint8Array[], roots: readonly Uint8Array[] = []) {
  const each = path.flatMap((element, i) => [
    path.with(i, flipped(element)),
    path.with(i, element.subarray(1)),
    path.toSpliced(i, 1),
    path.toSpliced(i, 0, element),
    path.toSpliced(i, 0, new Uint8Array()),
  ]);
  const more = [new Uint8Array(32), ...roots].flatMap((extra) => [
    [...path, extra],
    [extra, ...path],
  ]);
  return [...each, ...more];
}

test('the published inclusion proofs of Certificate Transparency are made', async () => {
  const prove = async (index: number, size: number) =>
    (await inclusionProof(sha, nodesOf(published), index, size)).map(hex);
  expect(await prove(0, 1)).toEqual([]);
  expect(await prove(0, 8)).toEqual([
    '96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7',
    '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
    '6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4',
  ]);
  expect(await prove(5, 8)).toEqual([
    'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
    'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
    'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  ]);
  expect(await prove(2, 3)).toEqual([
    'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  ]);
});

test('the published consistency proofs of Certificate Transparency are made', async () => {
  const prove = async (first: number, second: number) =>
    (await consistencyProof(sha, nodesOf(published), first, second)).map(hex);
  expect(await prove(1, 1)).toEqual([]);
  expect(await prove(1, 8)).toEqual([
    '96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7',
    '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
    '6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4',
  ]);
  expect(await prove(6, 8)).toEqual([
    '0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a',
    'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
    'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  ]);
  expect(await prove(2, 5)).toEqual([
    '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
    'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
  ]);
});

test('an inclusion proof is the one RFC 6962 defines, and is accepted', async () => {
  await fc.assert(
    fc.asyncProperty(ordered, async ([index = 0, size = 0]) => {
      fc.pre(index < size);
      const claim = await inclusionClaim(index, size);
      expect(claim.path.map(hex)).toEqual(naivePath(index, leaves.slice(0, size)).map(hex));
      expect(verifyInclusion(sha, claim)).toBe(true);
    }),
  );
});

test('a consistency proof is the one RFC 6962 defines, and is accepted', async () => {
  await fc.assert(
    fc.asyncProperty(ordered, async ([first = 0, second = 0]) => {
      const claim = await consistencyClaim(first, second);
      const expected = first === 0 ? [] : naiveSubproof(first, leaves.slice(0, second), true);
      expect(claim.path.map(hex)).toEqual(expected.map(hex));
      expect(verifyConsistency(sha, claim)).toBe(true);
    }),
  );
});

test('no inclusion proof survives a change of any part of it', async () => {
  for (const [index, size] of [
    [0, 1],
    [0, 8],
    [7, 8],
    [4, 5],
    [2, 3],
    [1, 5],
    [5, 8],
    [64, 100],
    [99, 100],
  ]) {
    const claim = await inclusionClaim(index as number, size as number);
    const forged: Partial<InclusionClaim>[] = [
      ...tamperedPaths(claim.path, [claim.root]).map((path) => ({ path })),
      ...[flipped(claim.leafHash), claim.leafHash.subarray(1)].map((leafHash) => ({ leafHash })),
      ...[flipped(claim.root), new Uint8Array()].map((root) => ({ root })),
      ...Array.from({ length: claim.size }, (_, other) => ({ index: other })),
      ...[-1, 0.5, claim.size, Number.NaN].map((other) => ({ index: other })),
      ...[0, -1, 0.5, 2 ** 53, Number.POSITIVE_INFINITY].map((other) => ({ size: other })),
    ];
    const accepted = forged.filter((change) => verifyInclusion(sha, { ...claim, ...change }));
    expect(accepted).toEqual([{ index }]);
  }
});

test('no consistency proof survives a change of any part of it', async () => {
  for (const [first, second] of [
    [1, 2],
    [1, 8],
    [4, 8],
    [6, 8],
    [6, 7],
    [7, 7],
    [2, 5],
    [3, 100],
    [64, 100],
    [99, 100],
  ]) {
    const claim = await consistencyClaim(first as number, second as number);
    const forged: Partial<ConsistencyClaim>[] = [
      ...tamperedPaths(claim.path, [claim.firstRoot, claim.secondRoot]).map((path) => ({ path })),
      ...(claim.path.length > 0 ? [{ path: [] }] : []),
      { firstRoot: flipped(claim.firstRoot) },
      { secondRoot: flipped(claim.secondRoot) },
      { firstRoot: claim.secondRoot, secondRoot: flipped(claim.firstRoot) },
      ...[0, -1, 0.5, claim.first + 1, claim.first ^ 2].map((other) => ({ first: other })),
      ...[0, claim.first - 1, 0.5, 2 ** 53].map((other) => ({ second: other })),
    ];
    const accepted = forged.filter((change) => verifyConsistency(sha, { ...claim, ...change }));
    expect(accepted).toEqual([]);
  }
});

test('a path longer than the tree is high is refused even when its hashes lead to the root', () => {
  const [a, b, c, d] = leaves as [Uint8Array, Uint8Array, Uint8Array, Uint8Array];
  const deeper = (node: Uint8Array) => nodeHash(sha, b, node);
  const inclusion = { leafHash: a, index: 0, size: 1, path: [b], root: deeper(a) };
  expect(verifyInclusion(sha, inclusion)).toBe(false);
  const ab = nodeHash(sha, a, b);
  const firstRoot = deeper(nodeHash(sha, ab, c));
  const secondRoot = deeper(nodeHash(sha, ab, nodeHash(sha, c, d)));
  const consistency = { first: 3, second: 4, path: [c, d, ab, b], firstRoot, secondRoot };
  expect(verifyConsistency(sha, consistency)).toBe(false);
});

test('a log that rewrote a leaf cannot prove that it extends what it published', async () => {
  const rewritten = leaves.with(20, flipped(leaves[20] as Uint8Array));
  const claim = await consistencyClaim(60, 150);
  const path = await consistencyProof(sha, nodesOf(rewritten), 60, 150);
  const forged = { ...claim, path, secondRoot: mth(rewritten.slice(0, 150)) };
  expect(verifyConsistency(sha, forged)).toBe(false);
  expect(verifyConsistency(sha, { ...forged, firstRoot: mth(rewritten.slice(0, 60)) })).toBe(true);
});

test('every tree extends the empty one, whose root is the hash of nothing', async () => {
  const claim = await consistencyClaim(0, 5);
  expect(verifyConsistency(sha, claim)).toBe(true);
  expect(verifyConsistency(sha, { ...claim, firstRoot: claim.secondRoot })).toBe(false);
  expect(verifyConsistency(sha, await consistencyClaim(0, 0))).toBe(true);
});

test('proofs in a log of more than 2^32 leaves are made and accepted', async () => {
  // All leaves alike, so that each complete subtree of one level has the same root.
  const levels = [leafHash(sha, new Uint8Array(60))];
  for (const last of levels) if (levels.length < 53) levels.push(nodeHash(sha, last, last));
  const level = (l: number) => levels[l] as Uint8Array;
  const getNode: GetNode = async (l) => level(l);
  const rootOf = (bits: number[]) => {
    const size = bits.reduce((sum, bit) => sum + 2 ** bit, 0);
    const frontier = Buffer.concat(bits.map(level));
    return { size, root: createFrontier({ size, frontier }, sha).root() };
  };
  const small = rootOf([33, 32, 8, 0]);
  const large = rootOf([45, 40, 33, 12, 1]);
  for (const index of [0, 2 ** 32 + 1, 2 ** 45, large.size - 1]) {
    const path = await inclusionProof(sha, getNode, index, large.size);
    const claim = { leafHash: level(0), index, path, ...large };
    expect(verifyInclusion(sha, claim)).toBe(true);
    expect(tamperedPaths(path).some((p) => verifyInclusion(sha, { ...claim, path: p }))).toBe(
      false,
    );
  }
  const path = await consistencyProof(sha, getNode, small.size, large.size);
  const roots = { firstRoot: small.root, secondRoot: large.root };
  const claim = { first: small.size, second: large.size, path, ...roots };
  expect(verifyConsistency(sha, claim)).toBe(true);
  expect(tamperedPaths(path).some((p) => verifyConsistency(sha, { ...claim, path: p }))).toBe(
    false,
  );
});

test('proofs of what is not in the log are refused', async () => {
  const getNode = nodesOf(leaves);
  for (const [index, size] of [
    [0, 0],
    [5, 5],
    [-1, 5],
    [0.5, 5],
    [0, 2 ** 53],
  ]) {
    const proof = inclusionProof(sha, getNode, index as number, size as number);
    await expect(proof).rejects.toThrow(RangeError);
  }
  for (const [first, second] of [
    [6, 5],
    [-1, 5],
    [0.5, 5],
    [1, 2 ** 53],
  ]) {
    const proof = consistencyProof(sha, getNode, first as number, second as number);
    await expect(proof).rejects.toThrow(RangeError);
  }
});

test('proofs of empty and one-leaf logs are judged as by github.com/transparency-dev/merkle', () => {
  const none = emptyRoot(sha);
  const [one, two] = [mth(published.slice(0, 1)), mth(published.slice(0, 2))];
  const judged = (first: number, second: number, roots: Uint8Array[], path: Uint8Array[] = []) => {
    const [firstRoot = none, secondRoot = none] = roots;
    return verifyConsistency(sha, { first, second, firstRoot, secondRoot, path });
  };
  expect(judged(0, 0, [none, none])).toBe(true);
  expect(judged(0, 0, [none, one])).toBe(false);
  expect(judged(0, 0, [none, none], [published[0] as Uint8Array])).toBe(false);
  expect(judged(1, 1, [one, one])).toBe(true);
  expect(judged(1, 1, [one, two])).toBe(false);
  expect(judged(1, 1, [one, one], [published[0] as Uint8Array])).toBe(false);
  expect(judged(2, 1, [two, one])).toBe(false);
  expect(judged(1, 0, [one, none])).toBe(false);
  expect(judged(0, 1, [one, one])).toBe(false);
  expect(judged(1, 2, [one, two])).toBe(false);
});
