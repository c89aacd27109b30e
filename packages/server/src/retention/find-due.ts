import { lateClass } from '@indelible/protocol';
import type { Queries } from '../postgres/db.ts';
import { readPlans } from '../tenants/plans.store.ts';
import { listPartitions, type StoredPartition, tenantsIn } from './partitions.store.ts';
import type { Piece } from './rows.store.ts';
import { isDue, type RetentionTerms, removalCutoff } from './schedule.ts';
import { readTerms, type TenantTerms, unsettledTenants } from './terms.store.ts';

/** An expired partition, and the tenants that must keep events in it. */
export interface KeptPartition {
  partition: StoredPartition;
  tenantIds: string[];
}

/** What may be removed now. */
export interface Due {
  /** Partitions without an event to keep. */
  whole: StoredPartition[];
  kept: KeptPartition[];
  /** Other events to remove: in kept partitions, or in former classes of their tenant. */
  pieces: Piece[];
}

/** Whether events before `beforeMs` must be kept; always for an unknown tenant. */
export function isOwed(terms: RetentionTerms | undefined, beforeMs: number, atMs: number): boolean {
  const cutoffMs = terms ? removalCutoff(terms, atMs) : null;
  return cutoffMs === null || cutoffMs < beforeMs;
}

/** Checks every partition that is old enough at `atMs`, and every former class of tenants. */
export async function findDue(owner: Queries, atMs: number): Promise<Due> {
  const due: Due = { whole: [], kept: [], pieces: [] };
  const pieces = new Map<string, Piece>();
  const add = (piece: Piece) => {
    const key = `${piece.tenantId}/${piece.retentionClass}`;
    if (piece.beforeMs > (pieces.get(key)?.beforeMs ?? 0)) pieces.set(key, piece);
  };
  const plans = await readPlans(owner);
  for (const partition of await listPartitions(owner)) {
    // A partition that is not attached must be settled in any case.
    if (partition.state === 'attached' && !isDue(partition, plans, atMs)) continue;
    const { owed, free } = await lookInto(owner, partition, atMs);
    if (owed.length === 0) {
      due.whole.push(partition);
      continue;
    }
    const { retentionClass, receivedMs, state } = partition;
    if (retentionClass === lateClass && state === 'attached') continue;
    due.kept.push({ partition, tenantIds: owed });
    for (const tenantId of free) add({ tenantId, retentionClass, beforeMs: receivedMs });
  }
  for (const piece of await leftPieces(owner, atMs)) add(piece);
  return { ...due, pieces: [...pieces.values()] };
}

async function lookInto(owner: Queries, partition: StoredPartition, atMs: number) {
  const tenantIds = await tenantsIn(owner, partition);
  const terms = await readTerms(owner, tenantIds);
  const isKept = (id: string) => isOwed(terms.get(id), partition.receivedMs, atMs);
  return { owed: tenantIds.filter(isKept), free: tenantIds.filter((id) => !isKept(id)) };
}

/** Events in a class left by a downgrade or lifted hold, after the grace. */
async function leftPieces(owner: Queries, atMs: number): Promise<Piece[]> {
  const left = (await unsettledTenants(owner)).flatMap(({ tenantId, otherClasses }) =>
    otherClasses.map((retentionClass) => ({ tenantId, retentionClass })),
  );
  const terms: Map<string, TenantTerms> = await readTerms(
    owner,
    left.map(({ tenantId }) => tenantId),
  );
  return left.flatMap((piece) => {
    const own = terms.get(piece.tenantId);
    const beforeMs = own ? removalCutoff(own, atMs) : null;
    return beforeMs === null ? [] : [{ ...piece, beforeMs }];
  });
}
