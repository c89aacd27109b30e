import { hash } from 'node:crypto';

/*
 * Whether all checkpoints of each origin belong to one history, computed directly from RFC 6962,
 * section 2.1, without code of the service.
 */

/** A checkpoint that a witness may have seen. */
export interface SeenCheckpoint {
  origin: string;
  size: number;
  root: Uint8Array;
  /** Where it was seen, for the error text. */
  where: string;
}

/** The leaf hashes of a log in one database at one time, under any id. */
export type History = readonly Buffer[];

const sha = (...parts: Uint8Array[]): Buffer => hash('sha256', Buffer.concat(parts), 'buffer');

export const leafHashOf = (entry: Uint8Array) => sha(Buffer.of(0), entry);
const nodeHash = (left: Buffer, right: Buffer) => sha(Buffer.of(1), left, right);

/** MTH of the first `size` leaves, for each of these sizes; none for a larger size. */
export function prefixRoots(leaves: History, sizes: Iterable<number>) {
  const wanted = new Set(sizes);
  const roots = new Map<number, Buffer>();
  const complete: { height: number; hash: Buffer }[] = [];
  const fold = () => complete.reduceRight<Buffer | null>(joined, null) ?? sha();
  if (wanted.has(0)) roots.set(0, fold());
  for (const [at, leaf] of leaves.entries()) {
    let node = { height: 0, hash: leaf };
    while (complete.at(-1)?.height === node.height) {
      const left = complete.pop() ?? node;
      node = { height: node.height + 1, hash: nodeHash(left.hash, node.hash) };
    }
    complete.push(node);
    if (wanted.has(at + 1)) roots.set(at + 1, fold());
  }
  return roots;
}

const joined = (right: Buffer | null, { hash }: { hash: Buffer }) =>
  right === null ? hash : nodeHash(hash, right);

/**
 * A sentence for each origin with contradicting checkpoints. Each witness saw some of them, in this
 * order. They agree if one history has each of them as the root of its first entries, and no
 * witness saw an origin shrink. An origin without a history is a finding too, because nothing was
 * compared.
 */
export function findForks(
  witnesses: readonly (readonly SeenCheckpoint[])[],
  histories: readonly History[],
): string[] {
  const origins = Map.groupBy(witnesses.flat(), ({ origin }) => origin);
  return [...origins].flatMap(([origin, seen]) => {
    const each = witnesses.map((saw) => shrunk(saw.filter((one) => one.origin === origin)));
    const finding = each.find((sentence) => sentence !== null) ?? differing(seen, histories);
    return finding === null ? [] : [`${origin}: ${finding}`];
  });
}

function shrunk(seen: readonly SeenCheckpoint[]): string | null {
  const at = seen.findIndex((later, index) => later.size < (seen[index - 1]?.size ?? 0));
  const [earlier, later] = [seen[at - 1], seen[at]];
  return earlier && later ? `${said(later)} comes after ${said(earlier)}` : null;
}

function differing(seen: readonly SeenCheckpoint[], histories: readonly History[]): string | null {
  const sizes = seen.map(({ size }) => size);
  const held = histories.map((leaves) => {
    const roots = prefixRoots(leaves, sizes);
    return seen.filter(({ size, root }) => roots.get(size)?.equals(root));
  });
  const most = held.reduce((a, b) => (b.length > a.length ? b : a), []);
  const missing = seen.find((each) => !most.includes(each));
  return missing ? `no history of the others holds ${said(missing)}` : null;
}

const said = ({ size, where }: SeenCheckpoint) => `the checkpoint of ${size} entries in ${where}`;
