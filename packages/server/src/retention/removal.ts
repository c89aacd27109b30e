import { formatTimestamp } from '@indelible/protocol';
import { placePartition } from '../events/index.ts';
import { lockHeads } from '../log/index.ts';
import { byItself, type OwnEvent, type RecordOwn } from '../own-event.ts';
import type { OwnerSession, WriterTx } from '../postgres/index.ts';
import { detachAll, isHeldBySomebody } from './detach.ts';
import { discardRetired } from './discard.ts';
import { type Due, findDue, isOwed, type KeptPartition } from './find-due.ts';
import {
  countByTenant,
  holdDetached,
  retirePartition,
  type StoredPartition,
  tenantsIn,
} from './partitions.store.ts';
import { countPiece, type Piece, removeBatch } from './rows.store.ts';
import { holdPlans, lockTerms, readTerms } from './terms.store.ts';

export interface RemovalDeps {
  /** Records within a transaction of the session. */
  recordOwn: RecordOwn;
  /** Rows that one transaction moves or removes; `batchRowsUsually` without it. */
  batchRows?: number;
  /** See `detachAll`. */
  readersMs?: number;
  /** Aborted when the service ends: the run then stops at the next step. */
  stopping?: AbortSignal;
}

/** Half a second's work, in which a plan change may have to wait. */
export const batchRowsUsually = 20_000;

/** What was removed of one tenant's events, as its log has it. */
export interface RemovedEvents {
  tenantId: string;
  plan: string;
  cutoffMs: number;
  /** Size of the log when it was recorded; every event removed is below it. */
  size: number;
  count: number;
}

export interface Removed {
  tenants: RemovedEvents[];
  dropped: string[];
  /** Partitions, and tables given up, that somebody still reads: the next run goes on. */
  waiting: string[];
  kept: KeptPartition[];
}

/**
 * Removes what was owed to nobody at `atMs`. Order, and what a crash leaves behind at each step:
 *  1. due partitions are detached: then nothing can be added to them, and their events are counted;
 *     a crash leaves a table of its own, which the next run finds
 *  2. each tenant's removal is recorded in its log: a crash leads to a second record, which says no
 *     less
 *  3. each table is given up, which cannot be taken back: a crash leaves a table without a use
 *  4. those tables are dropped, and what lies in other partitions is deleted in batches
 * A plan or hold that changes before 3 is heard: a partition then comes back as it was.
 */
export async function removeExpired(
  owner: OwnerSession,
  deps: RemovalDeps,
  atMs: number,
): Promise<Removed> {
  // First what an earlier run has left: it may have the name that one of these is to take.
  await discardRetired(owner, deps.stopping);
  const due = await findDue(owner, atMs);
  const { detached, waiting } = await detachAll(owner, whollyOut(due), deps);
  const planned = await planRemovals(owner, detached, due.pieces);
  const recorded = new Map<string, RemovedEvents>();
  for (const removal of planned.values()) {
    deps.stopping?.throwIfAborted();
    const done = await owner.transaction((tx) => recordRemoval(tx, deps, removal, atMs));
    if (done) recorded.set(removal.tenantId, done);
  }
  const dropped: string[] = [];
  for (const partition of detached) {
    const isGone = await retireOrAttach(owner, partition, recorded, atMs).catch(heldAsNull);
    if (isGone === null) waiting.push(partition.name);
    else if (isGone) dropped.push(partition.name);
  }
  waiting.push(...(await discardRetired(owner, deps.stopping)));
  for (const piece of due.pieces) await removePiece(owner, deps, piece, recorded, atMs);
  return { tenants: [...recorded.values()], dropped, waiting, kept: due.kept };
}

/** One table that a backup has open must not keep the others from going. */
function heldAsNull(error: unknown): null {
  if (isHeldBySomebody(error)) return null;
  throw error;
}

/** Also those that an earlier run has begun with, though something in them is owed by now. */
function whollyOut({ whole, kept }: Due): StoredPartition[] {
  const begun = kept.map(({ partition }) => partition).filter(({ state }) => state !== 'attached');
  return [...begun, ...whole];
}

/** What a run is about to remove of one tenant's events. */
export interface PlannedRemoval {
  tenantId: string;
  /** Before this moment; after the last event that goes. */
  cutoffMs: number;
  /** In whole partitions; those of the pieces are counted when they are recorded. */
  count: number;
  pieces: Piece[];
}

/** By tenant; a partition counts only for those who have events in it. */
export async function planRemovals(
  owner: Pick<OwnerSession, 'query'>,
  partitions: readonly StoredPartition[],
  pieces: readonly Piece[],
): Promise<Map<string, PlannedRemoval>> {
  const removals = new Map<string, PlannedRemoval>();
  const of = (tenantId: string): PlannedRemoval => {
    const removal = removals.get(tenantId) ?? { tenantId, cutoffMs: 0, count: 0, pieces: [] };
    removals.set(tenantId, removal);
    return removal;
  };
  for (const partition of partitions) {
    for (const [tenantId, count] of await countByTenant(owner, partition)) {
      const removal = of(tenantId);
      removal.count += count;
      removal.cutoffMs = Math.max(removal.cutoffMs, partition.toMs);
    }
  }
  for (const piece of pieces) of(piece.tenantId).pieces.push(piece);
  return removals;
}

async function recordRemoval(
  tx: WriterTx,
  deps: RemovalDeps,
  { tenantId, pieces, ...whole }: PlannedRemoval,
  atMs: number,
): Promise<RemovedEvents | null> {
  const terms = await lockTerms(tx, tenantId);
  let { cutoffMs, count } = whole;
  for (const piece of pieces) {
    const found = await countPiece(tx, piece);
    count += found;
    if (found > 0) cutoffMs = Math.max(cutoffMs, piece.beforeMs);
  }
  if (terms === null || count === 0 || isOwed(terms, cutoffMs, atMs)) return null;
  const [head] = await lockHeads(tx, [tenantId], true);
  if (!head) return null;
  const removed = { tenantId, plan: terms.plan, cutoffMs, size: head.size, count };
  await deps.recordOwn(tx, tenantId, removalEvent(removed));
  return removed;
}

/** Whether it is gone. A change of plan or hold waits until this is decided. */
function retireOrAttach(
  owner: OwnerSession,
  partition: StoredPartition,
  recorded: ReadonlyMap<string, RemovedEvents>,
  atMs: number,
): Promise<boolean> {
  const { retentionClass, fromMs, toMs } = partition;
  return owner.transaction(async (tx) => {
    await holdPlans(tx);
    if (!(await holdDetached(tx, partition))) return false; // somebody needs it again
    const tenantIds = await tenantsIn(tx, partition);
    const terms = await readTerms(tx, tenantIds);
    const isFree = tenantIds.every(
      (id) => (recorded.get(id)?.cutoffMs ?? 0) >= toMs && !isOwed(terms.get(id), toMs, atMs),
    );
    if (isFree) await retirePartition(tx, partition);
    else await placePartition(tx, retentionClass, fromMs);
    return isFree;
  });
}

async function removePiece(
  owner: OwnerSession,
  { stopping, batchRows = batchRowsUsually }: RemovalDeps,
  piece: Piece,
  recorded: ReadonlyMap<string, RemovedEvents>,
  atMs: number,
): Promise<void> {
  const record = recorded.get(piece.tenantId);
  if (!record) return;
  for (let count = batchRows; count === batchRows; ) {
    stopping?.throwIfAborted();
    count = await owner.transaction(async (tx) => {
      const terms = await lockTerms(tx, piece.tenantId);
      if (terms === null || isOwed(terms, piece.beforeMs, atMs)) return 0;
      return removeBatch(tx, piece, record.size, batchRows);
    });
  }
}

/**
 * The record of a removal. `after` is what `indelible verify` holds against entries without an
 * event: those below `size` whose time is before `cutoff` may be gone, and no others.
 */
export function removalEvent({ tenantId, plan, cutoffMs, size, count }: RemovedEvents): OwnEvent {
  const cutoff = formatTimestamp(cutoffMs);
  return {
    actor: byItself,
    action: 'delete',
    resource: { type: 'retention', id: tenantId, name: 'Retention' },
    diff: {},
    after: { cutoff, size, count, policy: plan },
    reason: `${count} expired event(s) from before ${cutoff} are removed: retention of the plan ${plan}.`,
  };
}
