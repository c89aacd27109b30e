import { counted, formatTimestamp } from '@indelible/protocol';
import { lockHeads } from '../log/store.ts';
import { actOf, byItself, type OwnEvent, type RecordOwn } from '../own-event.ts';
import type { OwnerSession, Queries, WriterTx } from '../postgres/db.ts';
import { ensurePartition } from '../postgres/partitions.store.ts';
import { holdPlans } from '../tenants/plans.store.ts';
import { type DetachOptions, detachAll, discardRetired, heldAsNull } from './detach.ts';
import { type Due, findDue, isOwed, type KeptPartition } from './find-due.ts';
import {
  countByTenant,
  holdDetached,
  retirePartition,
  type StoredPartition,
  tenantsIn,
} from './partitions.store.ts';
import { countPiece, type Piece, removeBatch } from './rows.store.ts';
import { lockTerms, readTerms } from './terms.store.ts';

export interface RemovalDeps extends DetachOptions {
  /** Records within a transaction of the session. */
  recordOwn: RecordOwn;
  /** Rows that one transaction moves or removes; default `batchRowsUsually`. */
  batchRows?: number;
}

/** Half a second of work, for which a plan change may wait. */
export const batchRowsUsually = 20_000;

/** The removal of one tenant's events, as its log records it. */
export interface RemovedEvents {
  tenantId: string;
  plan: string;
  cutoffMs: number;
  /** Size of the log at the record; every removed event is below it. */
  size: number;
  count: number;
}

export interface Removed {
  tenants: RemovedEvents[];
  dropped: string[];
  /** Partitions and discarded tables that are still being read: the next run continues. */
  waiting: string[];
  kept: KeptPartition[];
}

/**
 * Removes the events that no tenant must keep at `atMs`. The order, and what a crash leaves at each
 * step:
 * 1. expired partitions are detached, so that no row can be added, and their events are counted; a
 *   crash leaves a separate table, which the next run finds
 * 2. each tenant's removal is recorded in its log; after a crash it is recorded again
 * 3. each table is discarded, which is final; a crash leaves an unused table
 * 4. these tables are dropped, and events in other partitions are deleted in batches
 * A change of plan or hold before step 3 is effective: the partition is then attached again.
 */
export async function removeExpired(
  owner: OwnerSession,
  deps: RemovalDeps,
  atMs: number,
): Promise<Removed> {
  // First the leftovers of an earlier run: they may have a name that is needed.
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

/** The partitions to remove, also those that an earlier run started, even if events must stay. */
function whollyOut({ whole, kept }: Due): StoredPartition[] {
  const begun = kept.map(({ partition }) => partition).filter(({ state }) => state !== 'attached');
  return [...begun, ...whole];
}

/** The planned removal of one tenant's events. */
export interface PlannedRemoval {
  tenantId: string;
  /** Before this time; later than the last removed event. */
  cutoffMs: number;
  /** In whole partitions; single rows are counted when they are recorded. */
  count: number;
  pieces: Piece[];
}

/** By tenant; a partition counts only for tenants with events in it. */
export async function planRemovals(
  owner: Queries,
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
      removal.cutoffMs = Math.max(removal.cutoffMs, partition.receivedMs);
    }
  }
  for (const piece of pieces) of(piece.tenantId).pieces.push(piece);
  return removals;
}

/** Counts a removal with its single rows, without those in the partitions `except`. */
export async function countRemoval(
  queries: Queries,
  { pieces, ...whole }: PlannedRemoval,
  except: readonly string[] = [],
): Promise<{ cutoffMs: number; count: number }> {
  let { cutoffMs, count } = whole;
  for (const piece of pieces) {
    const found = await countPiece(queries, piece, except);
    count += found;
    if (found > 0) cutoffMs = Math.max(cutoffMs, piece.beforeMs);
  }
  return { cutoffMs, count };
}

async function recordRemoval(
  tx: WriterTx,
  deps: RemovalDeps,
  removal: PlannedRemoval,
  atMs: number,
): Promise<RemovedEvents | null> {
  const { tenantId } = removal;
  const terms = await lockTerms(tx, tenantId);
  const { cutoffMs, count } = await countRemoval(tx, removal);
  if (terms === null || count === 0 || isOwed(terms, cutoffMs, atMs)) return null;
  const [head] = await lockHeads(tx, [tenantId], true);
  if (!head) return null;
  const removed = { tenantId, plan: terms.plan, cutoffMs, size: head.size, count };
  await deps.recordOwn(tx, tenantId, removalEvent(removed));
  return removed;
}

/** Whether it was discarded. A change of plan or hold waits for this decision. */
function retireOrAttach(
  owner: OwnerSession,
  partition: StoredPartition,
  recorded: ReadonlyMap<string, RemovedEvents>,
  atMs: number,
): Promise<boolean> {
  const { retentionClass, fromMs, receivedMs } = partition;
  return owner.transaction(async (tx) => {
    await holdPlans(tx);
    if (!(await holdDetached(tx, partition))) return false; // its events must be kept again
    const tenantIds = await tenantsIn(tx, partition);
    const terms = await readTerms(tx, tenantIds);
    const isFree = tenantIds.every(
      (id) =>
        (recorded.get(id)?.cutoffMs ?? 0) >= receivedMs && !isOwed(terms.get(id), receivedMs, atMs),
    );
    if (isFree) await retirePartition(tx, partition);
    else await ensurePartition(tx, retentionClass, fromMs);
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
 * The record of a removal. `indelible verify` compares `after` with entries without an event: only
 * those below `size` that happened and were received before `cutoff` may be missing.
 */
export function removalEvent({ tenantId, plan, cutoffMs, size, count }: RemovedEvents): OwnEvent {
  const cutoff = formatTimestamp(cutoffMs);
  const reason = `${counted(count, 'expired event')} from before ${cutoff} ${count === 1 ? 'is' : 'are'} removed: retention of the plan ${plan}.`;
  const resource = { type: 'retention', id: tenantId, name: 'Retention' };
  const after = { cutoff, size, count, policy: plan, countedFrom: 'receipt' };
  return actOf({ actor: byItself, reason }, 'delete', resource, { after });
}
