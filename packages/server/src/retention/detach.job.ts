import type { OwnerSession } from '../db.ts';
import {
  detachPartition,
  finishDetachment,
  listPartitions,
  type PartitionState,
  type StoredPartition,
} from './partitions.store.ts';

const attemptsMax = 3;

/**
 * Detaches these partitions; returns those that are, and the names of those that somebody still reads.
 * Recording and other readers go on meanwhile: only this session waits, lock_timeout at a time.
 */
export async function detachAll(
  owner: OwnerSession,
  partitions: readonly StoredPartition[],
  stopping?: AbortSignal,
): Promise<{ detached: StoredPartition[]; waiting: string[] }> {
  const detached: StoredPartition[] = [];
  const waiting: string[] = [];
  // PostgreSQL detaches one at a time: what was begun comes first, and while it waits no other may.
  const begunFirst = [...partitions].sort((a, b) => rank[a.state] - rank[b.state]);
  for (const partition of begunFirst) {
    stopping?.throwIfAborted();
    if (waiting.length === 0 && (await detach(owner, partition))) {
      detached.push({ ...partition, state: 'detached' });
    } else waiting.push(partition.name);
  }
  return { detached, waiting };
}

const rank: Record<PartitionState, number> = { leaving: 0, detached: 1, attached: 2 };

async function detach(owner: OwnerSession, partition: StoredPartition): Promise<boolean> {
  let state: PartitionState | undefined = partition.state;
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    try {
      if (state === 'attached') await detachPartition(owner, partition);
      if (state === 'leaving') await finishDetachment(owner, partition);
      return state !== undefined;
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      // It may have come half way: gone for new statements, while older ones still see it.
      state = (await listPartitions(owner)).find(({ name }) => name === partition.name)?.state;
    }
  }
  return state === 'detached';
}

/** Whether somebody else has what a statement wanted, and did not give it back in time. */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '55P03';
}
