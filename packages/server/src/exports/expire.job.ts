import type { ObjectStore } from '../objects/index.ts';
import { write } from '../postgres/index.ts';
import { objectName } from './file/export-file.ts';
import { expireExports, lostStreams, objectRemoved } from './store.ts';
import { failExport, keptAliveEveryMs, type StreamDeps } from './stream-export.ts';

export interface ExpireDeps extends StreamDeps {
  objects: ObjectStore;
}

const atOnce = 100;
/** After this long no worker writes to what has failed or was cancelled. */
const settledMs = 3_600_000;
/** Several times what a process that sends one lets pass between two signs of life. */
const lostAfterMs = 4 * keptAliveEveryMs;

/**
 * Removes files that have had their time, and whatever failed exports left; ends streams that were
 * cut off by a crash. Any number of processes may do so at once. A removal that fails is tried at
 * the next run. False when one has failed.
 */
export async function expireFiles(deps: ExpireDeps): Promise<boolean> {
  const { db, now, objects, onError } = deps;
  const lost = await write(db, (tx) => lostStreams(tx, now() - lostAfterMs, atOnce));
  for (const key of lost) await failExport(deps, key, 'interrupted').catch(onError);
  // First nobody is shown the file any more, then it goes, then that is written down.
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
