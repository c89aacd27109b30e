import {
  consistencyProof,
  createFrontier,
  rootAtSize,
  type Sha256,
  verifyConsistency,
} from '@indelible/protocol';
import type { Queries, WriterTx } from '../postgres/db.ts';
import { type DirtyLog, type HeadsByLogId, headsOf } from './checkpoint.store.ts';
import { entriesFrom } from './entries.store.ts';
import type { LogCheckpoint } from './round.ts';
import { treeReader } from './tree.store.ts';

/* Compares the stored logs with the published rounds. Findings are for the operator. */

// Each group is read at once and hashed without a pause: about 5 ms each.
const logsAtOnce = 10;

/**
 * What signing these logs would contradict, or null: a log must only sign a continuation of what it
 * signed before (C2SP tlog-checkpoint), and only entries that it has.
 */
export function contradiction(
  tx: WriterTx,
  sha: Sha256,
  logs: readonly DirtyLog[],
): Promise<string | null> {
  return firstFinding(logs, async (log) => {
    const finding = await contradictionOf(tx, sha, log);
    if (finding !== null || (await inOrderUntil(tx, log.tenantId, log.signedSize ?? 0)) >= log.size)
      return finding;
    return `an entry of the log ${log.logId} was received before the entry it follows`;
  });
}

/**
 * The number of entries up to the first one that was received before its predecessor; the first
 * `known` ones were compared before. Capsules hold the entries of their time range only: an entry
 * with a false, earlier time would have them begin behind events of the range.
 */
export async function inOrderUntil(tx: WriterTx, tenantId: string, known: number): Promise<number> {
  let former: Uint8Array = new Uint8Array(8);
  let at = Math.max(0, known - 1);
  for await (const entries of entriesFrom(tx, tenantId, at)) {
    for (const entry of entries) {
      const received = entry.subarray(4, 12);
      if (Buffer.compare(received, former) < 0) return at;
      [former, at] = [received, at + 1];
    }
  }
  return at;
}

async function contradictionOf(tx: WriterTx, sha: Sha256, log: DirtyLog): Promise<string | null> {
  const { tenantId, logId, size, signedSize, signedRoot } = log;
  if (log.hasSurplus)
    return `the log ${logId} of ${size} entries has further entries behind its end`;
  if (signedSize !== null && size < signedSize) {
    return `the log ${logId} has ${size} entries, but ${signedSize} were published`;
  }
  const root = createFrontier(log, sha).root();
  if (signedSize === null || signedRoot === null) {
    const isWhole = log.isStored && (await hasRoot(tx, sha, tenantId, { size, root }));
    return isWhole ? null : `the ${size} entries of the log ${logId} are not all stored`;
  }
  if (!log.isStored) return `the last of the ${size} entries of the log ${logId} is not stored`;
  const nodes = treeReader(tx, sha, tenantId);
  const path = await nullIfNotStored(consistencyProof(sha, nodes, signedSize, size));
  const claim = { first: signedSize, second: size, firstRoot: signedRoot, secondRoot: root };
  if (path !== null && verifyConsistency(sha, { ...claim, path })) return null;
  return `the log ${logId} does not continue the ${signedSize} entries that were published of it`;
}

/** The damage of these tenants' logs; null if they have every entry that they count. */
export async function damageOf(
  tx: WriterTx,
  sha: Sha256,
  tenantIds: readonly string[],
): Promise<string | null> {
  if (tenantIds.length === 0) return null;
  const heads = await headsOf(tx, tenantIds);
  if (heads.length < tenantIds.length) return 'the log of a tenant has lost its head';
  return firstFinding(heads, async ({ tenantId, logId, size, frontier }) => {
    const root = createFrontier({ size, frontier }, sha).root();
    const isWhole = await hasRoot(tx, sha, tenantId, { size, root });
    return isWhole ? null : `the ${size} entries of the log ${logId} are not all stored`;
  });
}

/** What these published checkpoints contain and the logs lack; null if nothing. */
export function disagreement(
  tx: WriterTx,
  sha: Sha256,
  checkpoints: readonly LogCheckpoint[],
  heads: HeadsByLogId,
): Promise<string | null> {
  return firstFinding(checkpoints, async (checkpoint) => {
    const { logId, size } = checkpoint;
    const head = heads.get(logId);
    if (!head) return `the log ${logId} it names does not exist here`;
    if (head.size < size) {
      return `the log ${logId} has ${head.size} of the ${size} entries it promises`;
    }
    if (await hasRoot(tx, sha, head.tenantId, checkpoint)) return null;
    return `the first ${size} entries of the log ${logId} differ from those it was signed over`;
  });
}

/** Whether the stored entries of a log give this root at this size. */
export async function hasRoot(
  tx: Queries,
  sha: Sha256,
  tenantId: string,
  { size, root }: { size: number; root: Uint8Array },
): Promise<boolean> {
  const stored = await nullIfNotStored(rootAtSize(sha, treeReader(tx, sha, tenantId), size));
  return stored !== null && Buffer.compare(stored, root) === 0;
}

async function firstFinding<T>(
  items: readonly T[],
  findingOf: (item: T) => Promise<string | null>,
): Promise<string | null> {
  for (let at = 0; at < items.length; at += logsAtOnce) {
    const findings = await Promise.all(items.slice(at, at + logsAtOnce).map(findingOf));
    const first = findings.find((finding) => finding !== null);
    if (first !== undefined) return first;
  }
  return null;
}

// Missing entries cannot match what was published.
async function nullIfNotStored<T>(reading: Promise<T>): Promise<T | null> {
  return reading.catch((error) => {
    if (error instanceof RangeError) return null;
    throw error;
  });
}
