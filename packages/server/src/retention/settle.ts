import { firstUuidAt, lateClass, retentionCutoff, uuidTimeMs } from '@indelible/protocol';
import { isLockTimeout, type OwnerSession, type Queries } from '../postgres/db.ts';
import { announcePartitions, ensurePartition } from '../postgres/partitions.store.ts';
import type { PartitionUnit } from '../tenants/plan-changes.ts';
import { readPlans } from '../tenants/plans.store.ts';
import { type DetachOptions, haveEnded } from './detach.ts';
import { listPartitions, openEvents } from './partitions.store.ts';
import { countFrom, type Move, moveBatch, oldestFrom } from './rows.store.ts';
import { endOfPartition, unitOf } from './schedule.ts';
import { leaveClasses, lockHead, lockTerms, unsettledTenants } from './terms.store.ts';

const anyUuid = firstUuidAt(0);

export interface SettleDeps extends DetachOptions {
  /** Rows that one transaction moves: half a second, for which a plan change may wait. */
  batchRows: number;
}

/**
 * Moves the events of every tenant with a changed plan or hold to its current class, batch by
 * batch. Each event is always in exactly one class, so no reader misses one or sees it twice.
 * Hidden events stay until they may be removed. Returns how many were moved; null
 * if they wait for transactions that read events.
 */
export async function settleTenants(
  owner: OwnerSession,
  deps: SettleDeps,
  nowMs: number,
): Promise<number | null> {
  const moves: Move[] = [];
  for (const former of await formerClasses(owner, nowMs)) {
    moves.push(...(await openMonths(owner, deps, former)));
  }
  // Once for all: a backup that reads the events would delay each tenant's move.
  if (moves.length === 0) return 0;
  if (!(await areKnown(owner, deps))) return null;
  let moved = 0;
  for (const move of moves) moved += await moveMonth(owner, deps, move);
  return moved;
}

/** A class from which a tenant's events move to its current one, and the first id that does. */
interface FormerClass extends Omit<Move, 'to'> {
  /** The unit of the partitions that they move to. */
  unit: PartitionUnit;
}

async function formerClasses(owner: Queries, nowMs: number): Promise<FormerClass[]> {
  const plans = await readPlans(owner);
  return (await unsettledTenants(owner)).flatMap(
    ({ tenantId, retentionClass: target, ...more }) => {
      const plan = plans.find((each) => each.class === target);
      // The plan hides older ones; a hold hides nothing.
      const from = plan ? firstUuidAt(retentionCutoff(plan.keeps, nowMs)) : anyUuid;
      // Late events stay in their class under every plan.
      const classes = more.otherClasses.filter((each) => each !== lateClass);
      const unit = unitOf(plans, target);
      return classes.map((retentionClass) => ({ tenantId, retentionClass, target, from, unit }));
    },
  );
}

async function moveMonth(owner: OwnerSession, deps: SettleDeps, move: Move): Promise<number> {
  const { tenantId, target } = move;
  let moved = 0;
  for (let count = deps.batchRows; count === deps.batchRows; moved += count) {
    deps.stopping?.throwIfAborted();
    count = await owner.transaction(async (tx) => {
      // Locks the plan while they move: no event may be moved to a former class.
      await lockTerms(tx, tenantId);
      const [current] = await unsettledTenants(tx, tenantId);
      return current?.retentionClass === target ? moveBatch(tx, move, deps.batchRows) : 0;
    });
  }
  return moved;
}

/** The events to move, by partitions that they move to, which exist now. */
async function openMonths(
  owner: OwnerSession,
  { stopping }: SettleDeps,
  { tenantId, retentionClass, target, unit, from: first }: FormerClass,
): Promise<Move[]> {
  const months: Move[] = [];
  for (let at = first; ; ) {
    stopping?.throwIfAborted();
    const from = await oldestFrom(owner, tenantId, retentionClass, at);
    if (from === null) return months;
    const timeMs = uuidTimeMs(from);
    const to = firstUuidAt(endOfPartition(unit, timeMs));
    // Otherwise they wait where they are, for the next run.
    if (await openPartition(owner, target, timeMs))
      months.push({ tenantId, retentionClass, from, to, target });
    at = to;
  }
}

/**
 * Whether every session knows the partitions, and no statement goes on that was planned without
 * them: it would see moved events neither there nor where they were.
 */
async function areKnown(owner: OwnerSession, deps: SettleDeps): Promise<boolean> {
  const readers = () => openEvents(owner);
  const isTold = (await haveEnded(readers, deps)) && (await announcePartitions(owner));
  return isTold && haveEnded(readers, deps);
}

/**
 * Whether a partition for this time exists now. False while the partition is being detached and
 * still read: an update would put rows into it, and they would be invisible. Not in the batch's
 * transaction: recording makes partitions too, and must not wait for it.
 */
async function openPartition(
  owner: Queries,
  retentionClass: number,
  timeMs: number,
): Promise<boolean> {
  try {
    await ensurePartition(owner, retentionClass, timeMs);
  } catch (error) {
    if (isLockTimeout(error)) return false;
    throw error;
  }
  return !(await listPartitions(owner)).some(
    (each) =>
      each.state === 'detach_pending' &&
      each.retentionClass === retentionClass &&
      each.fromMs <= timeMs &&
      timeMs < each.toMs,
  );
}

/** Removes classes without events from a tenant's row, so that its lists read one class only. */
export async function closeClasses(owner: OwnerSession): Promise<void> {
  const partitions = await listPartitions(owner);
  // Partitions that are not attached may come back, with events of any tenant.
  const unsure = new Set(
    partitions.filter(({ state }) => state !== 'attached').map((each) => each.retentionClass),
  );
  for (const { tenantId } of await unsettledTenants(owner)) {
    await owner.transaction(async (tx) => {
      await lockTerms(tx, tenantId);
      await lockHead(tx, tenantId); // or the first late event could be recorded meanwhile
      const [tenant] = await unsettledTenants(tx, tenantId);
      const sure = tenant?.otherClasses.filter((each) => !unsure.has(each)) ?? [];
      const empty = await withoutEvents(tx, tenantId, sure);
      if (empty.length > 0) await leaveClasses(tx, tenantId, empty);
    });
  }
}

async function withoutEvents(owner: Queries, tenantId: string, classes: readonly number[]) {
  const empty: number[] = [];
  for (const each of classes) {
    if ((await oldestFrom(owner, tenantId, each, anyUuid)) === null) empty.push(each);
  }
  return empty;
}

/** How many events must still be moved. */
export async function countUnsettled(owner: Queries, nowMs: number): Promise<number> {
  let count = 0;
  for (const former of await formerClasses(owner, nowMs)) count += await countFrom(owner, former);
  return count;
}
