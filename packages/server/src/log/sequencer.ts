import {
  createFrontier,
  type EntryVersion,
  encodeEntry,
  leafHash,
  type Sha256,
} from '@indelible/protocol';

/** A locked log head: size of the tree, compact range, last receipt time. */
export interface LogHead {
  tenantId: string;
  size: number;
  frontier: Uint8Array;
  lastReceivedUs: number;
  retentionClass: number;
  otherClasses: number[];
  /** Whether its tenant is offboarded: then it accepts only the service's own records. */
  isClosed?: boolean;
}

/** A complete tile; `rest` is the part that is not in the tail yet (level 0 only). */
export interface CompletedTile {
  level: number;
  index: number;
  hash: Uint8Array;
  rest: Uint8Array;
}

/** What one flush adds to one log. `leaves[i]` belongs to the i-th event. */
export interface LogAppend {
  head: LogHead;
  newSize: number;
  frontier: Uint8Array;
  receivedUs: number;
  leaves: { sequence: number; leafHash: Uint8Array }[];
  tail: { sequence: number; entry: Uint8Array }[];
  tiles: CompletedTile[];
}

/** Receipt time of events that are appended now: never decreases, even if the clock does. */
export function receivedUsOf({ lastReceivedUs }: LogHead, nowMs: number): number {
  return Math.max(nowMs * 1_000, lastReceivedUs);
}

/**
 * Numbers events after a locked head and computes everything that the append writes. Pure: equal
 * input gives equal bytes.
 */
export function planAppend(
  sha: Sha256,
  head: LogHead,
  events: readonly { version: EntryVersion; uuid: string; commitment: Uint8Array }[],
  nowMs: number,
): LogAppend {
  const receivedUs = receivedUsOf(head, nowMs);
  const entries = events.map(({ version, uuid, commitment }) =>
    encodeEntry({ version, receivedAtUs: receivedUs, eventUuid: uuid, commitment }),
  );
  return planEntries(sha, head, entries, receivedUs);
}

/** Plans existing entries; `receivedUs` is that of the last one. */
export function planEntries(
  sha: Sha256,
  head: LogHead,
  entries: readonly Uint8Array[],
  receivedUs: number,
): LogAppend {
  const tiles: CompletedTile[] = [];
  let tail: LogAppend['tail'] = [];
  const tree = createFrontier(head, sha, (nodeLevel, index, hash) => {
    if (nodeLevel === 0 || nodeLevel % 8 !== 0) return;
    const level = nodeLevel / 8 - 1;
    tiles.push({ level, index, hash, rest: level === 0 ? concat(tail) : new Uint8Array() });
    if (level === 0) tail = [];
  });
  const leaves = entries.map((entry, offset) => {
    const sequence = head.size + offset;
    const hash = leafHash(sha, entry);
    tail.push({ sequence, entry });
    tree.append(hash);
    return { sequence, leafHash: hash };
  });
  const { size, frontier } = tree.state();
  return { head, newSize: size, frontier, receivedUs, leaves, tail, tiles };
}

/** The head that an append leaves. */
export function headAfter({ head, newSize, frontier, receivedUs }: LogAppend): LogHead {
  return { ...head, size: newSize, frontier, lastReceivedUs: receivedUs };
}

function concat(entries: LogAppend['tail']): Uint8Array {
  return Buffer.concat(entries.map(({ entry }) => entry));
}
