import type { Database } from '../db.ts';
import { write } from '../db.ts';
import type { Jobs, RunningJob } from '../jobs.ts';
import type { ObjectStore } from '../objects.ts';
import type { RecordOwn } from '../own-event.ts';
import { outcomeEvent } from './export-event.ts';
import { countFileRows, FileTally, fileChunks } from './file-chunks.ts';
import {
  beginExport,
  type ExportKey,
  type ExportRow,
  endExport,
  type Failure,
  finishExport,
  progressExport,
  requeueExport,
} from './store.ts';

export interface ExportJobDeps {
  db: Database;
  now: () => number;
  objects: ObjectStore;
  jobs: Jobs;
  recordOwn: RecordOwn;
  onError: (error: unknown) => void;
}

/** How long a file is kept. */
export const keptMs = 7 * 86_400_000;
const progressEveryMs = 1_000;
/** Exports at the same time: in a process, and of one tenant. */
const limits = { atOnce: 3, perTenant: 2 };

export function objectName({
  tenantId,
  id,
  format,
}: ExportKey & Pick<ExportRow, 'format'>): string {
  return `exports/${tenantId}/${id}.${format}`;
}

/** What workers do for exports: files, and what becomes of those that cannot be made. */
export function handleExports(deps: ExportJobDeps): void {
  deps.jobs.handle<ExportKey>('export', limits, (job) => runExport(deps, job));
  deps.jobs.handle<ExportKey>('export-failed', { atOnce: 1 }, ({ data }) => giveUp(deps, data));
}

/**
 * One attempt, from the beginning: the same bytes as any other, so that it does not matter who made the
 * object, nor if two workers did. An attempt that ends between object and row is simply made again.
 */
async function runExport(deps: ExportJobDeps, job: RunningJob<ExportKey>): Promise<void> {
  const row = await write(deps.db, (tx) => beginExport(tx, job.data));
  if (!row) return;
  const tally = new FileTally({ reuse: true });
  const watch = watchProgress(deps, row, tally);
  const made = await makeObject(deps, row, tally, AbortSignal.any([job.signal, watch.signal]));
  await watch.end();
  if (watch.signal.aborted) return; // nobody waits for it any more
  if (made === 'done') return finish(deps, row, tally);
  if (job.signal.aborted) throw new Error('the attempt was interrupted');
  await write(deps.db, (tx) => requeueExport(tx, row, made));
  throw new Error(`the attempt failed: ${made}`);
}

async function makeObject(
  { db, now, objects, onError }: ExportJobDeps,
  row: ExportRow,
  tally: FileTally,
  signal: AbortSignal,
): Promise<'done' | Failure> {
  let failure: Failure = 'storage';
  async function* source() {
    try {
      yield* fileChunks(db, now, row, tally);
    } catch (error) {
      failure = 'unexpected';
      throw error;
    }
  }
  try {
    await objects.putStream(objectName(row), source(), signal);
    return 'done';
  } catch (error) {
    if (!signal.aborted) onError(error);
    return failure;
  }
}

/** Says every second how far it has come, and hears by that whether it is to go on. */
function watchProgress({ db, now, onError }: ExportJobDeps, row: ExportRow, tally: FileTally) {
  const enough = new AbortController();
  let total = row.rowsTotal;
  if (total === null) void countFileRows(db, now, row).then((count) => (total = count));
  const tell = async () => {
    const goOn = await write(db, (tx) => progressExport(tx, row, tally.rows, total));
    if (!goOn) enough.abort(new Error('the export was cancelled, or taken over'));
  };
  let telling = Promise.resolve();
  const timer = setInterval(() => {
    telling = telling.then(tell).catch(onError);
  }, progressEveryMs);
  const end = () => {
    clearInterval(timer);
    return telling;
  };
  return { signal: enough.signal, end };
}

async function finish(deps: ExportJobDeps, row: ExportRow, tally: FileTally): Promise<void> {
  const { db, now, jobs, recordOwn } = deps;
  const finishedAtMs = now();
  const expiresAtMs = finishedAtMs + keptMs;
  const file = tally.end();
  await write(db, async (tx) => {
    const finished = await finishExport(tx, row, file, finishedAtMs, expiresAtMs);
    // Cancelled, or finished by another worker: then the object is the same, and not ours to remove.
    if (!finished) return;
    await sendMailJob(jobs, tx, row);
    await recordOwn(tx, row.tenantId, outcomeEvent(finished));
  });
  jobs.wake('export-mail');
}

/** After the last attempt, also when no worker lived to its end. */
async function giveUp({ db, now, jobs, recordOwn }: ExportJobDeps, key: ExportKey): Promise<void> {
  await write(db, async (tx) => {
    const end = { status: 'failed', failure: 'interrupted' } as const;
    const failed = await endExport(tx, key, end, now());
    if (!failed) return;
    await sendMailJob(jobs, tx, key);
    await recordOwn(tx, key.tenantId, outcomeEvent(failed));
  });
  jobs.wake('export-mail');
}

function sendMailJob(jobs: Jobs, tx: Parameters<Jobs['send']>[0], { tenantId, id }: ExportKey) {
  return jobs.send(tx, 'export-mail', { data: { tenantId, id }, tenantId });
}
