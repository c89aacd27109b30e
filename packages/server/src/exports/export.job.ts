import type { Jobs, RunningJob } from '../background/jobs.ts';
import type { Parts } from '../parts.ts';
import { type WriterTx, write } from '../postgres/db.ts';
import { outcomeEvent } from './export-event.ts';
import { countFileRows } from './file/file-chunks.ts';
import type { FileInMaking, FileThread } from './file/file-thread.ts';
import type { ExportQuota } from './quota.ts';
import {
  beginExport,
  type ExportKey,
  type ExportRow,
  endExport,
  type Failure,
  type FinishedFile,
  finishExport,
  progressExport,
  requeueExport,
} from './store.ts';

export interface ExportJobDeps extends Pick<Parts, 'db' | 'now' | 'jobs' | 'recordOwn'> {
  files: FileThread;
  onError: (error: unknown) => void;
  quota: Pick<ExportQuota, 'hasDisk'>;
}

/** How long a file is kept. */
export const keptMs = 7 * 86_400_000;
const progressEveryMs = 1_000;

/** The work of workers for exports: making files, and recording final failures. */
export function handleExports(deps: ExportJobDeps): void {
  deps.jobs.handle<ExportKey>(
    'export',
    (job) => runExport(deps, job),
    ({ data }) => giveUp(deps, data),
  );
}

/**
 * One attempt, from the beginning. It gives the same bytes as any other, so it does not matter
 * which worker wrote the object, or whether two did. An attempt that ends between object and row is
 * repeated.
 */
async function runExport(deps: ExportJobDeps, job: RunningJob<ExportKey>): Promise<void> {
  const row = await write(deps.db, (tx) => beginExport(tx, job.data));
  if (!row) return;
  if (!(await deps.quota.hasDisk())) return again(deps, row, 'storage');
  const unwanted = new AbortController();
  const file = deps.files.make(row, AbortSignal.any([job.signal, unwanted.signal]));
  const endProgress = watchProgress(deps, row, file, unwanted);
  const made = await file.outcome;
  await endProgress();
  if (unwanted.signal.aborted) return; // the caller has stopped waiting
  if (typeof made !== 'string') return finish(deps, row, made);
  if (job.signal.aborted) throw new Error('the attempt was interrupted');
  await again(deps, row, made);
}

async function again({ db }: ExportJobDeps, row: ExportRow, failure: Failure): Promise<void> {
  await write(db, (tx) => requeueExport(tx, row, failure));
  throw new Error(`the attempt failed: ${failure}`);
}

/** Stores the progress every second, and learns whether to continue. */
function watchProgress(
  { db, onError }: ExportJobDeps,
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
  let telling = Promise.resolve();
  const timer = setInterval(() => {
    telling = telling.then(tell).catch(onError);
  }, progressEveryMs);
  return () => {
    clearInterval(timer);
    return telling;
  };
}

async function finish(deps: ExportJobDeps, row: ExportRow, file: FinishedFile): Promise<void> {
  const { db, now, jobs, recordOwn } = deps;
  const finishedAtMs = now();
  const expiresAtMs = finishedAtMs + keptMs;
  await write(db, async (tx) => {
    const finished = await finishExport(tx, row, file, finishedAtMs, expiresAtMs);
    // Cancelled, or finished by another worker: then the object is the same and must stay.
    if (!finished) return;
    await sendMailJob(jobs, tx, row);
    await recordOwn(tx, row.tenantId, outcomeEvent(finished));
  });
  jobs.wake();
}

/** After the last attempt, also if all workers crashed. */
async function giveUp({ db, now, jobs, recordOwn }: ExportJobDeps, key: ExportKey): Promise<void> {
  await write(db, async (tx) => {
    const end = { status: 'failed', failure: 'interrupted' } as const;
    const failed = await endExport(tx, key, end, now());
    if (!failed) return;
    await sendMailJob(jobs, tx, key);
    await recordOwn(tx, key.tenantId, outcomeEvent(failed));
  });
  jobs.wake();
}

function sendMailJob(jobs: Jobs, tx: WriterTx, { tenantId, id }: ExportKey) {
  return jobs.send(tx, 'export-mail', { data: { tenantId, id }, tenantId });
}
