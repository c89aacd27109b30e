import { firstUuidAt, retentionCutoff, uuidTimeMs } from '@indelible/protocol';
import { placePartition } from '../events/index.ts';
import type { OwnerSession } from '../postgres/index.ts';
import { readPlans, type StoredPlan } from '../tenants/index.ts';
import { isLockTimeout } from './detach.ts';
import { listPartitions } from './partitions.store.ts';
import { countFrom, moveBatch, oldestFrom } from './rows.store.ts';
import { endOfPartition, unitOf } from './schedule.ts';
import {
  leaveClasses,
  lockTerms,
  type Owner,
  type UnsettledTenant,
  unsettledTenants,
} from './terms.store.ts';

const anyUuid = firstUuidAt(0);

export interface SettleDeps {
  /** Rows that one transaction moves: half a second, in which a plan change may have to wait. */
  batchRows: number;
  stopping?: AbortSignal | undefined;
}

/**
 * Moves the events of every tenant whose plan or hold has changed into the
 * class of its new events, batch by batch: each is in one class or the other,
 * so that no reader misses one or sees it twice. What the plan hides stays
 * where it is until it may be removed. Returns how many events were moved.
 */
export async function settleTenants(
  owner: OwnerSession,
  deps: SettleDeps,
  nowMs: number,
): Promise<number> {
  let moved = 0;
  const plans = await readPlans(owner);
  for (const tenant of await unsettledTenants(owner)) {
    for (const retentionClass of tenant.otherClasses) {
      moved += await moveClass(owner, deps, tenant, { retentionClass, plans, nowMs });
    }
  }
  return moved;
}

async function moveClass(
  owner: OwnerSession,
  { batchRows, stopping }: SettleDeps,
  tenant: UnsettledTenant,
  { retentionClass, plans, nowMs }: { retentionClass: number; plans: StoredPlan[]; nowMs: number },
): Promise<number> {
  const { tenantId, retentionClass: target } = tenant;
  let from = firstToMove(tenant, plans, nowMs);
  for (let moved = 0; ; ) {
    stopping?.throwIfAborted();
    const oldest = await oldestFrom(owner, tenantId, retentionClass, from);
    if (oldest === null) return moved;
    const timeMs = uuidTimeMs(oldest);
    const to = firstUuidAt(endOfPartition(unitOf(plans, target), timeMs));
    if (!(await openPartition(owner, target, timeMs))) {
      from = to; // they wait where they are, for the next run
      continue;
    }
    const move = { tenantId, retentionClass, from: oldest, to, target };
    const count = await owner.transaction(async (tx) => {
      // The plan stays as it is while they move: nothing
      // may be moved to a class the tenant has left.
      await lockTerms(tx, tenantId);
      const [current] = await unsettledTenants(tx, tenantId);
      return current?.retentionClass === target ? moveBatch(tx, move, batchRows) : 0;
    });
    if (count === 0) return moved; // the plan has changed again: the next run goes on
    moved += count;
    from = oldest;
  }
}

/**
 * Whether there is a partition for this moment now; not while somebody reads one that is on its way
 * out: an update would still put rows there, and nobody would see them. In no transaction with the
 * batch: recording makes partitions too, and must not wait for that.
 */
async function openPartition(
  owner: Owner,
  retentionClass: number,
  timeMs: number,
): Promise<boolean> {
  try {
    await placePartition(owner, retentionClass, timeMs);
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

/** Older ones are hidden by the plan of the tenant's class; a hold hides nothing. */
function firstToMove(
  { retentionClass }: UnsettledTenant,
  plans: readonly StoredPlan[],
  nowMs: number,
): string {
  const plan = plans.find((each) => each.class === retentionClass);
  return plan ? firstUuidAt(retentionCutoff(plan.keeps, nowMs)) : anyUuid;
}

/**
 * Forgets classes that no event of a tenant lies in any more: its lists then read one class alone.
 */
export async function closeClasses(owner: OwnerSession): Promise<void> {
  const partitions = await listPartitions(owner);
  // What is not attached may come back, with events of any tenant.
  const unsure = new Set(
    partitions.filter(({ state }) => state !== 'attached').map((each) => each.retentionClass),
  );
  for (const { tenantId } of await unsettledTenants(owner)) {
    await owner.transaction(async (tx) => {
      await lockTerms(tx, tenantId);
      const [tenant] = await unsettledTenants(tx, tenantId);
      const sure = tenant?.otherClasses.filter((each) => !unsure.has(each)) ?? [];
      const empty = await withoutEvents(tx, tenantId, sure);
      if (empty.length > 0) await leaveClasses(tx, tenantId, empty);
    });
  }
}

async function withoutEvents(owner: Owner, tenantId: string, classes: readonly number[]) {
  const empty: number[] = [];
  for (const each of classes) {
    if ((await oldestFrom(owner, tenantId, each, anyUuid)) === null) empty.push(each);
  }
  return empty;
}

/** How many events wait to be moved. */
export async function countUnsettled(owner: Owner, nowMs: number): Promise<number> {
  let count = 0;
  const plans = await readPlans(owner);
  for (const tenant of await unsettledTenants(owner)) {
    for (const retentionClass of tenant.otherClasses) {
      count += await countFrom(
        owner,
        tenant.tenantId,
        retentionClass,
        firstToMove(tenant, plans, nowMs),
      );
    }
  }
  return count;
}
