import type { OwnerSession } from '../postgres/index.ts';
import { isLockTimeout } from './detach.ts';
import { listRetired, stepsOfDropping } from './partitions.store.ts';

/**
 * Gives back the space of partitions whose removal is decided, also of those that an earlier run
 * was kept from. Nobody waits for it: the tables are nobody's any more. Index by index, because
 * freeing many gigabytes at once is what the disk would let others feel. What somebody still has
 * open (a backup) stays for the next time; its names are returned.
 */
export async function discardRetired(
  owner: OwnerSession,
  stopping?: AbortSignal,
): Promise<string[]> {
  const held: string[] = [];
  for (const table of await listRetired(owner)) {
    for (const step of await stepsOfDropping(owner, table)) {
      stopping?.throwIfAborted();
      if (await isDone(owner, step)) continue;
      held.push(table);
      break;
    }
  }
  return held;
}

async function isDone(owner: OwnerSession, step: string): Promise<boolean> {
  try {
    await owner.query(step);
    return true;
  } catch (error) {
    if (isLockTimeout(error)) return false;
    throw error;
  }
}
