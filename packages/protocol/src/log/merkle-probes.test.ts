import { hash } from 'node:crypto';
import { expect, test } from 'vitest';
import { createFrontier, emptyLogState, emptyRoot, leafHash, type Sha256 } from './merkle.ts';
import {
  type ConsistencyClaim,
  type InclusionClaim,
  verifyConsistency,
  verifyInclusion,
} from './merkle-proofs.ts';

/* The probes of github.com/transparency-dev/merkle, testdata/inclusion and testdata/consistency, by
 * their names there: each takes a proof over the eight test inputs of Certificate Transparency that
 * holds, and breaks it in one way. */

const sha: Sha256 = (data) => hash('sha256', data, 'buffer');
const bytes = (hex: string) => new Uint8Array(Buffer.from(hex, 'hex'));
const inputs = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657'];
const leaves = [...inputs, '606162636465666768696a6b6c6d6e6f'].map((hex) =>
  leafHash(sha, bytes(hex)),
);

function rootOf(size: number): Uint8Array {
  const tree = createFrontier(emptyLogState, sha);
  for (const leaf of leaves.slice(0, size)) tree.append(leaf);
  return tree.root();
}

const pathTo0Or1 = [
  '96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7',
  '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
  '6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4',
];
const inclusions: [number, number, string[]][] = [
  [0, 1, []],
  [0, 8, pathTo0Or1],
  [
    5,
    8,
    [
      'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
      'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
      'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
    ],
  ],
  [2, 3, ['fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125']],
  [
    1,
    5,
    [
      '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
      '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
      'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
    ],
  ],
];
const consistencies: [number, number, string[]][] = [
  [1, 1, []],
  [1, 8, pathTo0Or1],
  [
    6,
    8,
    [
      '0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a',
      'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
      'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
    ],
  ],
  [
    2,
    5,
    [
      '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
      'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
    ],
  ],
  [
    6,
    7,
    [
      '0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a',
      'b08693ec2e721597130641e8211e7eedccb4c26413963eee6c1e2ed16ffb1a5f',
      'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
    ],
  ],
];

const garbage = bytes('6b'.repeat(32));
const withBit = (hash: Uint8Array, bit: number) =>
  Uint8Array.from(hash, (byte, at) => (at === 0 ? byte ^ (1 << bit) : byte));

/** A path with each component damaged, and with components too many or too few. */
function brokenPaths(path: readonly Uint8Array[], bit: number, roots: Record<string, Uint8Array>) {
  const broken: Record<string, readonly Uint8Array[]> = {
    'trailing garbage': [...path, garbage],
    'preceding garbage': [garbage, ...path],
  };
  for (const [name, root] of Object.entries(roots)) {
    broken[`trailing ${name}`] = [...path, root];
    broken[`preceding ${name}`] = [root, ...path];
  }
  path.forEach((hash, at) => {
    broken[`modified proof[${at}] bit @${bit}`] = path.with(at, withBit(hash, bit));
    broken[`inserted component @${at}`] = path.toSpliced(at, 0, new Uint8Array());
    broken[`wrong length @${at}`] = path.with(at, hash.subarray(1));
  });
  if (path.length > 0) broken['removed component'] = path.slice(0, -1);
  return broken;
}

test('every probe of an inclusion proof is refused, and the proof itself is not', () => {
  for (const [index, size, hexPath] of inclusions) {
    const claim: InclusionClaim = {
      leafHash: leaves[index] as Uint8Array,
      index,
      size,
      path: hexPath.map(bytes),
      root: rootOf(size),
    };
    expect(verifyInclusion(sha, claim), `${index} in ${size}`).toBe(true);
    const probes: Record<string, Partial<InclusionClaim>> = {
      'leafIdx plus @1': { index: index + 1 },
      'leafIdx sub @1': { index: index - 1 },
      'leafIdx XOR @2': { index: index ^ 2 },
      'treeSize mul @2': { size: size * 2 },
      'treeSize div @2': { size: Math.floor(size / 2) },
      'wrong leaf': { leafHash: garbage },
      'random leaf': { leafHash: sha(garbage) },
      'empty leaf': { leafHash: new Uint8Array() },
      'empty root': { root: new Uint8Array() },
      'random root': { root: sha(garbage) },
      'empty root and random leaf': { root: new Uint8Array(), leafHash: sha(garbage) },
    };
    for (const [name, path] of Object.entries(brokenPaths(claim.path, 3, { root: claim.root }))) {
      probes[name] = { path };
    }
    const accepted = Object.entries(probes)
      .filter(([, change]) => verifyInclusion(sha, { ...claim, ...change }))
      .map(([name]) => name);
    expect(accepted, `${index} in ${size}`).toEqual([]);
  }
});

test('every probe of a consistency proof is refused, and the proof itself is not', () => {
  for (const [first, second, hexPath] of consistencies) {
    const claim: ConsistencyClaim = {
      first,
      second,
      firstRoot: rootOf(first),
      secondRoot: rootOf(second),
      path: hexPath.map(bytes),
    };
    expect(verifyConsistency(sha, claim), `${first} to ${second}`).toBe(true);
    const { firstRoot, secondRoot, path } = claim;
    const probes: Record<string, Partial<ConsistencyClaim>> = {
      'size1 sub @1': { first: first - 1 },
      'size1 plus @1': { first: first + 1 },
      'size1 XOR @2': { first: first ^ 2 },
      'size2 mul @2': { second: second * 2 },
      'size2 div @2': { second: Math.floor(second / 2) },
      'wrong root1': { firstRoot: garbage },
      'wrong root2': { secondRoot: garbage },
    };
    if (path.length > 0) {
      probes['swapped roots'] = { firstRoot: secondRoot, secondRoot: firstRoot };
      probes['empty proof'] = { path: [] };
      probes['truncated proof'] = { path: path.slice(0, -1) };
    }
    const roots = { root1: firstRoot, root2: secondRoot };
    for (const [name, path] of Object.entries(brokenPaths(claim.path, 4, roots))) {
      probes[name] = { path };
    }
    const accepted = Object.entries(probes)
      .filter(([, change]) => verifyConsistency(sha, { ...claim, ...change }))
      .map(([name]) => name);
    expect(accepted, `${first} to ${second}`).toEqual([]);
  }
});

test('the probes of empty and one-leaf logs are judged as there', () => {
  const none = emptyRoot(sha);
  const [one, two] = [rootOf(1), rootOf(2)];
  const judged = (first: number, second: number, roots: Uint8Array[], path: Uint8Array[] = []) => {
    const [firstRoot = none, secondRoot = none] = roots;
    return verifyConsistency(sha, { first, second, firstRoot, secondRoot, path });
  };
  expect(judged(0, 0, [none, none])).toBe(true);
  expect(judged(0, 0, [none, one])).toBe(false);
  expect(judged(0, 0, [none, none], [garbage])).toBe(false);
  expect(judged(1, 1, [one, one])).toBe(true);
  expect(judged(1, 1, [one, two])).toBe(false);
  expect(judged(1, 1, [one, one], [garbage])).toBe(false);
  expect(judged(2, 1, [two, one])).toBe(false);
  expect(judged(1, 0, [one, none])).toBe(false);
  expect(judged(0, 1, [one, one])).toBe(false);
  expect(judged(1, 2, [one, two])).toBe(false);
});
