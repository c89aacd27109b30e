import type { ObjectStore } from '../objects/object-store.ts';
import { write } from '../postgres/db.ts';
import { objectName } from './file/export-file.ts';
import { expireExports, lostStreams, objectRemoved } from './store.ts';
import { failExport, keptAliveEveryMs, type StreamDeps } from './stream-export.ts';

export interface ExpireDeps extends StreamDeps {
  objects: ObjectStore;
}

const atOnce = 100;
/** After this time no worker writes for a failed or cancelled export. */
const settledMs = 3_600_000;
/** Several times the interval at which a sending process updates the row. */
const lostAfterMs = 4 * keptAliveEveryMs;

/**
 * Removes expired files and leftovers of failed exports; ends streams of crashed processes. Several
 * processes may run it at once. A failed removal is retried at the next run. False if one has
 * failed.
 */
export async function expireFiles(deps: ExpireDeps): Promise<boolean> {
  const { db, now, objects, onError } = deps;
  const lost = await write(db, (tx) => lostStreams(tx, now() - lostAfterMs, atOnce));
  for (const key of lost) await failExport(deps, key, 'interrupted').catch(onError);
  // Order: the file is no longer offered, then removed, then its removal stored.
  const due = await write(db, (tx) => expireExports(tx, now(), now() - settledMs, atOnce));
  let isWhole = true;
  for (const row of due) {
    try {
      await objects.remove(objectName(row));
      await write(db, (tx) => objectRemoved(tx, row));
    } catch (error) {
      isWhole = false;
      onError(error);
    }
  }
  return isWhole;
}
