import { repeating } from '../background/every.ts';
import type { RunningJob } from '../background/jobs.ts';
import { write } from '../postgres/db.ts';
import { objectName } from './file/export-file.ts';
import { countFileRows } from './file/file-chunks.ts';
import type { FileInMaking } from './file/file-thread.ts';
import {
  beginExport,
  type ExportKey,
  type ExportRow,
  expireExports,
  type Failure,
  lostStreams,
  objectRemoved,
  progressExport,
  requeueExport,
} from './store.ts';
import { type ExportParts, failExport, finish, keptAliveEveryMs } from './stream-export.ts';

const progressEveryMs = 1_000;

export function handleExports(parts: ExportParts): void {
  parts.jobs.handle<ExportKey>(
    'export',
    (job) => runExport(parts, job),
    // After the last attempt, also if all workers crashed.
    ({ data }) => failExport(parts, data, 'interrupted'),
  );
}

/**
 * One attempt, from the beginning. It gives the same bytes as any other, so it does not matter
 * which worker wrote the object, or whether two did. An attempt that ends between object and row is
 * repeated.
 */
async function runExport(parts: ExportParts, job: RunningJob<ExportKey>): Promise<void> {
  const row = await write(parts.db, (tx) => beginExport(tx, job.data));
  if (!row) return;
  if (!(await parts.quota.hasDisk())) return again(parts, row, 'storage');
  const unwanted = new AbortController();
  const file = parts.files.make(row, AbortSignal.any([job.signal, unwanted.signal]));
  const endProgress = watchProgress(parts, row, file, unwanted);
  const made = await file.outcome;
  await endProgress();
  if (unwanted.signal.aborted) return; // the caller has stopped waiting
  if (typeof made !== 'string') {
    // If it was cancelled, or finished by another worker, the object is the same and must stay.
    await finish(parts, row, made);
    return;
  }
  if (job.signal.aborted) throw new Error('the attempt was interrupted');
  await again(parts, row, made);
}

async function again({ db }: ExportParts, row: ExportRow, failure: Failure): Promise<void> {
  await write(db, (tx) => requeueExport(tx, row, failure));
  throw new Error(`the attempt failed: ${failure}`);
}

/** Stores the progress every second, and learns whether to continue. */
function watchProgress(
  { db, onError }: ExportParts,
  row: ExportRow,
  file: FileInMaking,
  unwanted: AbortController,
): () => Promise<void> {
  let total = row.rowsTotal;
  if (total === null) void countFileRows(db, row).then((count) => (total = count));
  const tell = async () => {
    const goOn = await write(db, (tx) => progressExport(tx, row, file.rows, total));
    if (!goOn) unwanted.abort(new Error('the export was cancelled, or taken over'));
  };
  return repeating(progressEveryMs, tell, onError);
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
export async function expireFiles(parts: ExportParts): Promise<boolean> {
  const { db, now, objects, onError } = parts;
  const lost = await write(db, (tx) => lostStreams(tx, now() - lostAfterMs, atOnce));
  for (const key of lost) await failExport(parts, key, 'interrupted').catch(onError);
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
