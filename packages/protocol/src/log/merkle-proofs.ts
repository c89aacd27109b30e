import { isCount } from '../json/strict-json.ts';
import { equalBytes } from './bytes.ts';
import {
  emptyRoot,
  hashBytes,
  joinedHashes,
  type LogState,
  nodeHash,
  rootOfSubtrees,
  type Sha256,
} from './merkle.ts';

/** The root of leaves [index·2^level, (index+1)·2^level), a complete subtree of the log. */
export type GetNode = (level: number, index: number) => Promise<Uint8Array>;

/** Leaves [start, end): a span that RFC 6962 splits a tree into. */
interface Span {
  start: number;
  end: number;
}

/**
 * The audit path of leaf `index` in the tree of `size` leaves, from the leaf up (RFC 6962 section
 * 2.1.1). RangeError unless 0 ≤ index < size; reads O(log size) nodes, all at once.
 */
export async function inclusionProof(
  sha: Sha256,
  getNode: GetNode,
  index: number,
  size: number,
): Promise<Uint8Array[]> {
  if (!isCount(index) || !isCount(size) || index >= size) throw new RangeError('no such leaf');
  const { siblings } = wayTo(index, size, ({ start, end }) => end - start === 1);
  return rootsOf(sha, getNode, siblings);
}

/**
 * The proof that the tree of `first` leaves is a prefix of that of `second` (RFC 6962 section
 * 2.1.2); empty when `first` is 0 or equals `second`. RangeError unless 0 ≤ first ≤ second.
 */
export async function consistencyProof(
  sha: Sha256,
  getNode: GetNode,
  first: number,
  second: number,
): Promise<Uint8Array[]> {
  if (!isCount(first) || !isCount(second) || first > second) throw new RangeError('no such sizes');
  if (first === 0) return [];
  const { span, siblings } = wayTo(first - 1, second, ({ end }) => end === first);
  // If the way never went right, it ends at the whole first tree, whose root the verifier has.
  return rootsOf(sha, getNode, span.start > 0 ? [span, ...siblings] : siblings);
}

/** The first of the spans that hold leaf `index`, from the root down, and the siblings above it. */
function wayTo(index: number, size: number, isThere: (span: Span) => boolean) {
  const siblings: Span[] = [];
  let span: Span = { start: 0, end: size };
  while (!isThere(span)) {
    const middle = span.start + largestPowerBelow(span.end - span.start);
    const [left, right] = [
      { ...span, end: middle },
      { ...span, start: middle },
    ];
    siblings.unshift(index < middle ? right : left);
    span = index < middle ? left : right;
  }
  return { span, siblings };
}

function rootsOf(sha: Sha256, getNode: GetNode, spans: readonly Span[]): Promise<Uint8Array[]> {
  return Promise.all(
    spans.map(async (span) => {
      const nodes = completeSubtrees(span).map(({ level, index }) => getNode(level, index));
      return rootOfSubtrees(sha, await Promise.all(nodes));
    }),
  );
}

/** The complete subtrees of a span, largest first. */
function completeSubtrees({ start, end }: Span): { level: number; index: number }[] {
  const subtrees: { level: number; index: number }[] = [];
  for (let at = start; at < end; ) {
    let [level, width] = [0, 1];
    while (width * 2 <= end - at) [level, width] = [level + 1, width * 2];
    subtrees.push({ level, index: at / width });
    at += width;
  }
  return subtrees;
}

function largestPowerBelow(count: number): number {
  let power = 1;
  while (power * 2 < count) power *= 2;
  return power;
}

export interface InclusionClaim {
  leafHash: Uint8Array;
  index: number;
  size: number;
  path: readonly Uint8Array[];
  root: Uint8Array;
}

/** Whether the leaf is number `index` in the tree of this size and root (RFC 9162, 2.1.3.2). */
export function verifyInclusion(sha: Sha256, claim: InclusionClaim): boolean {
  const { index, size, path, root } = claim;
  if (!isCount(index) || !isCount(size) || index >= size) return false;
  if (![claim.leafHash, root, ...path].every(isHash)) return false;
  let hash = claim.leafHash;
  let [node, last] = [index, size - 1];
  for (const sibling of path) {
    if (last === 0) return false;
    if (node % 2 === 1 || node === last) {
      hash = nodeHash(sha, sibling, hash);
      [node, last] = skipToRightChild(node, last);
    } else {
      hash = nodeHash(sha, hash, sibling);
    }
    [node, last] = [half(node), half(last)];
  }
  return last === 0 && equalBytes(hash, root);
}

export interface ConsistencyClaim {
  first: number;
  second: number;
  firstRoot: Uint8Array;
  secondRoot: Uint8Array;
  path: readonly Uint8Array[];
}

/**
 * Whether the first tree is a prefix of the second (RFC 9162 section 2.1.4.2). Every tree extends
 * the empty one; equal sizes need equal roots; both with an empty path.
 */
export function verifyConsistency(sha: Sha256, claim: ConsistencyClaim): boolean {
  const { first, second, firstRoot, secondRoot, path } = claim;
  if (!isCount(first) || !isCount(second) || first > second) return false;
  if (![firstRoot, secondRoot, ...path].every(isHash)) return false;
  if (first === second) return path.length === 0 && equalBytes(firstRoot, secondRoot);
  if (first === 0) return path.length === 0 && equalBytes(firstRoot, emptyRoot(sha));
  return followConsistencyPath(sha, claim);
}

function followConsistencyPath(sha: Sha256, claim: ConsistencyClaim): boolean {
  let [node, last] = [claim.first - 1, claim.second - 1];
  while (node % 2 === 1) [node, last] = [half(node), half(last)];
  // A complete first tree is a node of the second, so proofs omit its root.
  const [seed, ...rest] = node === 0 ? [claim.firstRoot, ...claim.path] : claim.path;
  if (seed === undefined) return false;
  let [firstHash, secondHash] = [seed, seed];
  for (const sibling of rest) {
    if (last === 0) return false;
    if (node % 2 === 1 || node === last) {
      firstHash = nodeHash(sha, sibling, firstHash);
      secondHash = nodeHash(sha, sibling, secondHash);
      [node, last] = skipToRightChild(node, last);
    } else {
      secondHash = nodeHash(sha, secondHash, sibling);
    }
    [node, last] = [half(node), half(last)];
  }
  const rootsAgree =
    equalBytes(firstHash, claim.firstRoot) && equalBytes(secondHash, claim.secondRoot);
  return last === 0 && rootsAgree;
}

/** Moves up the right edge, where a subtree without a sibling is its own parent. */
function skipToRightChild(node: number, last: number): [number, number] {
  let [at, edge] = [node, last];
  while (at % 2 === 0 && at !== 0) [at, edge] = [half(at), half(edge)];
  return [at, edge];
}

function half(value: number): number {
  return Math.floor(value / 2);
}

function isHash(bytes: Uint8Array): boolean {
  return bytes.length === hashBytes;
}

/** The compact range of the first `size` leaves. RangeError for an invalid size. */
export async function stateAtSize(getNode: GetNode, size: number): Promise<LogState> {
  if (!isCount(size)) throw new RangeError('no such size');
  const subtrees = completeSubtrees({ start: 0, end: size });
  const hashes = await Promise.all(subtrees.map(({ level, index }) => getNode(level, index)));
  return { size, frontier: joinedHashes(hashes) };
}

/**
 * The tree's root when it had `size` leaves. RangeError for an invalid size. Reads O(log size)
 * nodes.
 */
export async function rootAtSize(sha: Sha256, getNode: GetNode, size: number): Promise<Uint8Array> {
  if (!isCount(size)) throw new RangeError('no such size');
  if (size === 0) return emptyRoot(sha);
  const [root] = await rootsOf(sha, getNode, [{ start: 0, end: size }]);
  if (root === undefined) throw new RangeError('no such size');
  return root;
}
