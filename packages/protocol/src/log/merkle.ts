/** SHA-256, synchronous. It must not keep `data`: the buffer is reused. */
export type Sha256 = (data: Uint8Array) => Uint8Array;

export const hashBytes = 32;

/**
 * A log as its compact range: the roots of its complete subtrees, one for each 1 bit of `size`,
 * largest first, 32 bytes each. `size` may exceed 2^32, but not 2^53 - 1.
 */
export interface LogState {
  size: number;
  frontier: Uint8Array;
}

/** Called for each subtree that becomes complete, leaves [index·2^level, (index+1)·2^level). */
export type OnSubtree = (level: number, index: number, hash: Uint8Array) => void;

export const emptyLogState: LogState = { size: 0, frontier: new Uint8Array(0) };

/** Root of the tree without leaves: the hash of nothing (RFC 6962 section 2.1). */
export function emptyRoot(sha: Sha256): Uint8Array {
  return sha(new Uint8Array(0));
}

/** Hash of a leaf: SHA-256(00 ‖ entry), RFC 6962 section 2.1. */
export function leafHash(sha: Sha256, entry: Uint8Array): Uint8Array {
  const data = new Uint8Array(1 + entry.length);
  data.set(entry, 1);
  return sha(data);
}

// One buffer for all nodes: allocating 65 bytes takes a large part of the time of hashing them.
const nodeData = new Uint8Array(1 + 2 * hashBytes);
nodeData[0] = 1;

/** Hash of an inner node: SHA-256(01 ‖ left ‖ right), RFC 6962 section 2.1. */
export function nodeHash(sha: Sha256, left: Uint8Array, right: Uint8Array): Uint8Array {
  requireHash(left);
  requireHash(right);
  nodeData.set(left, 1);
  nodeData.set(right, 1 + hashBytes);
  return sha(nodeData);
}

/** The root of exactly 2^k hashes of one level, such as a full tile's 256; else RangeError. */
export function subtreeRoot(sha: Sha256, hashes: readonly Uint8Array[]): Uint8Array {
  let level = hashes;
  while (level.length > 1 && level.length % 2 === 0) {
    const parents: Uint8Array[] = [];
    for (let i = 0; i < level.length; i += 2) {
      parents.push(nodeHash(sha, level[i] as Uint8Array, level[i + 1] as Uint8Array));
    }
    level = parents;
  }
  const [root] = level;
  if (root === undefined || level.length > 1) throw new RangeError('not 2^k hashes');
  return root;
}

/** The root of a tree of adjacent complete subtrees, largest first. */
export function rootOfSubtrees(sha: Sha256, subtrees: readonly Uint8Array[]): Uint8Array {
  if (subtrees.length === 0) return emptyRoot(sha);
  return subtrees.reduceRight((right, left) => nodeHash(sha, left, right));
}

/** Appends leaves to a log, given its compact range. */
export type Frontier = ReturnType<typeof createFrontier>;

/**
 * A log that grows from `state`, with about one node hash for each leaf. `onSubtree` gets each leaf
 * and each subtree that it completes, smallest first. RangeError if `state` is inconsistent.
 */
export function createFrontier(state: LogState, sha: Sha256, onSubtree?: OnSubtree) {
  const subtrees = splitFrontier(state);
  let { size } = state;
  return {
    /** One leaf hash. RangeError if it does not have 32 bytes, or at 2^53 - 1 leaves. */
    append(leaf: Uint8Array): void {
      requireHash(leaf);
      if (size >= Number.MAX_SAFE_INTEGER) throw new RangeError('the log is full');
      let hash = leaf;
      let index = size;
      onSubtree?.(0, index, hash);
      // Each trailing 1 bit of the size is a complete left sibling. Division instead of shifting,
      // because JavaScript's bit operators use 32 bits.
      for (let level = 1; index % 2 === 1; level += 1) {
        hash = nodeHash(sha, subtrees.pop() as Uint8Array, hash);
        index = (index - 1) / 2;
        onSubtree?.(level, index, hash);
      }
      subtrees.push(hash);
      size += 1;
    },
    state: (): LogState => ({ size, frontier: joinedHashes(subtrees) }),
    root: () => rootOfSubtrees(sha, subtrees),
  };
}

function splitFrontier({ size, frontier }: LogState): Uint8Array[] {
  if (!Number.isSafeInteger(size) || size < 0) throw new RangeError('not a log size');
  if (frontier.length !== hashBytes * oneBits(size)) {
    throw new RangeError(`${frontier.length} bytes are not a frontier of a log of size ${size}`);
  }
  const subtrees: Uint8Array[] = [];
  for (let at = 0; at < frontier.length; at += hashBytes) {
    subtrees.push(new Uint8Array(frontier.subarray(at, at + hashBytes)));
  }
  return subtrees;
}

function oneBits(size: number): number {
  let count = 0;
  for (let rest = size; rest > 0; rest = Math.floor(rest / 2)) count += rest % 2;
  return count;
}

export function joinedHashes(hashes: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(hashes.length * hashBytes);
  for (const [index, hash] of hashes.entries()) bytes.set(hash, index * hashBytes);
  return bytes;
}

function requireHash(hash: Uint8Array): void {
  if (hash.length !== hashBytes) throw new RangeError(`a hash has ${hashBytes} bytes`);
}
