import type { OwnerSession } from '../postgres/db.ts';
import { heldAsNull } from './detach.ts';
import { listRetired, stepsOfDropping } from './partitions.store.ts';

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
