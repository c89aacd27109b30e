import { setTimeout as pause } from 'node:timers/promises';
import { isLockTimeout, type OwnerSession } from '../postgres/db.ts';
import { codeOf } from '../postgres/embedded/error-code.ts';
import {
  detachPartition,
  eventReaders,
  finishDetachment,
  listPartitions,
  listRetired,
  type PartitionState,
  type StoredPartition,
  stepsOfDropping,
} from './partitions.store.ts';

const attemptsMax = 3;

export interface DetachOptions {
  /** Aborted when the service stops: the run then ends after its current step. */
  stopping?: AbortSignal | undefined;
  /** How long to wait for readers of a partition, in ms; default `readersMsUsually`. */
  readersMs?: number | undefined;
}

// Longer than any statement of the service, so that only other programs delay a detachment.
const readersMsUsually = 12_000;
/** The first pause between two looks at the locks; each is twice as long as the one before. */
const pauseMsMin = 20;
const pauseMsMax = 160;

/**
 * Detaches these partitions; returns the detached ones, and the names of those that are still being
 * read. Recording and other reads continue: only this session waits, lock_timeout at a time.
 */
export async function detachAll(
  owner: OwnerSession,
  partitions: readonly StoredPartition[],
  options: DetachOptions = {},
): Promise<{ detached: StoredPartition[]; waiting: string[] }> {
  const detached: StoredPartition[] = [];
  const waiting: string[] = [];
  // PostgreSQL detaches one at a time: an unfinished detachment must be completed first.
  const begunFirst = [...partitions].sort((a, b) => rank[a.state] - rank[b.state]);
  for (const partition of begunFirst) {
    options.stopping?.throwIfAborted();
    // A detached partition that is read cannot be discarded: its removal is not recorded.
    const isOut =
      partition.state === 'detached'
        ? (await eventReaders(owner, partition)).length === 0
        : waiting.length === 0 && (await detach(owner, partition, options));
    if (isOut) detached.push({ ...partition, state: 'detached' });
    else waiting.push(partition.name);
  }
  return { detached, waiting };
}

const rank: Record<PartitionState, number> = { detach_pending: 0, attached: 1, detached: 2 };

async function detach(
  owner: OwnerSession,
  partition: StoredPartition,
  options: DetachOptions,
): Promise<boolean> {
  let state: PartitionState | undefined = partition.state;
  // A started detachment cannot be undone, and hides rows that a changed plan may show again.
  const readers = () => eventReaders(owner, partition);
  if (state === 'attached' && !(await haveEnded(readers, options))) return false;
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    try {
      if (state === 'attached') await detachPartition(owner, partition);
      if (state === 'detach_pending') await finishDetachment(owner, partition);
      return state !== undefined;
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      // It may be half done: hidden from new statements, visible to older ones.
      state = (await listPartitions(owner)).find(({ name }) => name === partition.name)?.state;
    }
  }
  return state === 'detached';
}

/** Whether all current ones of these transactions end in time; later ones are irrelevant. */
export async function haveEnded(
  transactions: () => Promise<string[]>,
  { stopping, readersMs = readersMsUsually }: DetachOptions,
): Promise<boolean> {
  const untilMs = performance.now() + readersMs;
  let pauseMs = pauseMsMin;
  for (let open = await transactions(); open.length > 0; ) {
    if (performance.now() > untilMs) return false;
    await pause(pauseMs, undefined, stopping ? { signal: stopping } : {});
    pauseMs = Math.min(2 * pauseMs, pauseMsMax);
    const still = new Set(await transactions());
    open = open.filter((each) => still.has(each));
  }
  return true;
}

/**
 * Null for a lock timeout, and for a table that could not be dropped and still has a name that is
 * needed: a table that a backup has open must not delay the others.
 */
export function heldAsNull(error: unknown): null {
  if (isLockTimeout(error) || codeOf(error) === '42P07') return null;
  throw error;
}

/**
 * Frees the space of removed partitions, also of earlier runs. No request waits for it. Index by
 * index, because freeing many gigabytes at once slows the disk for others. Tables that are still
 * open (a backup) stay for the next run; returns their names.
 */
export async function discardRetired(
  owner: OwnerSession,
  stopping?: AbortSignal,
): Promise<string[]> {
  const held: string[] = [];
  for (const table of await listRetired(owner)) {
    for (const step of await stepsOfDropping(owner, table)) {
      stopping?.throwIfAborted();
      if (await owner.query(step).catch(heldAsNull)) continue;
      held.push(table);
      break;
    }
  }
  return held;
}
