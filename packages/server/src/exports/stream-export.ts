import { repeating } from '../background/every.ts';
import type { Jobs } from '../background/jobs.ts';
import type { Whence } from '../own-event.ts';
import type { Parts } from '../parts.ts';
import { type WriterTx, write } from '../postgres/db.ts';
import { FileTally, fileChunks } from './file/file-chunks.ts';
import type { FileThread } from './file/file-thread.ts';
import { outcomeEvent } from './shown-export.ts';
import {
  type ExportKey,
  type ExportRow,
  endExport,
  type Failure,
  finishExport,
  keepStream,
  type PartOfFile,
} from './store.ts';

/** What a tenant may have of exports that are made in the background. */
export interface ExportQuota {
  /** Waiting or being made. */
  unfinishedMax: number;
  /** Of files that are kept. */
  keptBytesMax: number;
  /** Whether the disk has room for further files. */
  hasDisk: () => Promise<boolean>;
}

export interface ExportParts extends Parts {
  files: FileThread;
  quota: ExportQuota;
  onError: (error: unknown) => void;
}

/** How often a process that sends a file updates its row. */
export const keptAliveEveryMs = 30_000;

/**
 * The file, sent while it is read. Its end is recorded before the last chunk is acknowledged; so is
 * an early close or an error. The sender must then break the connection, so that an incomplete file
 * never looks complete.
 */
export async function* streamExport(
  parts: ExportParts,
  row: ExportRow,
  whence: Whence,
): AsyncGenerator<Buffer, void, undefined> {
  const tally = new FileTally();
  const stillSends = () => write(parts.db, (tx) => keepStream(tx, row, parts.now()));
  const endSigns = repeating(keptAliveEveryMs, stillSends, parts.onError);
  let failure: Failure | null = 'aborted';
  try {
    // The response may buffer several of them.
    for await (const lines of fileChunks(parts.db, row, tally)) yield Buffer.from(lines);
    failure = 'unexpected';
    await finishStream(parts, row, tally, whence);
    failure = null;
  } catch (error) {
    failure = 'unexpected';
    throw error;
  } finally {
    void endSigns();
    // If recording fails now, the job for lost streams records it later.
    const { rows, bytes } = tally;
    if (failure)
      await failExport(parts, row, failure, { rows, bytes }, whence).catch(parts.onError);
  }
}

async function finishStream(
  { db, now, recordOwn }: ExportParts,
  row: ExportRow,
  tally: FileTally,
  whence: Whence,
): Promise<void> {
  await write(db, async (tx) => {
    const finished = await finishExport(tx, row, tally.end(), now(), null);
    if (!finished) throw new Error('an export ended while it was sent');
    await recordOwn(tx, row.tenantId, outcomeEvent(finished, whence));
  });
}

/** Ends an export as failed, records that and tells of a job; no effect if it has ended already. */
export async function failExport(
  { db, now, jobs, recordOwn }: ExportParts,
  key: ExportKey,
  failure: Failure,
  sent: PartOfFile | null = null,
  whence?: Whence,
): Promise<void> {
  await write(db, async (tx) => {
    const failed = await endExport(tx, key, { status: 'failed', failure }, now(), sent);
    if (failed?.mode === 'job') await sendMailJob(jobs, tx, key);
    if (failed) await recordOwn(tx, key.tenantId, outcomeEvent(failed, whence));
  });
  jobs.wake();
}

export function sendMailJob(jobs: Jobs, tx: WriterTx, { tenantId, id }: ExportKey) {
  return jobs.send(tx, 'export-mail', { data: { tenantId, id }, tenantId });
}

/** Reads the first chunk in advance, so that an early error is answered with a problem. */
export async function withFirst<T>(
  rest: AsyncGenerator<T, void, undefined>,
): Promise<AsyncIterable<T>> {
  let first: IteratorResult<T, void> | null = await rest.next();
  const next = () => {
    const chunk = first ? Promise.resolve(first) : rest.next();
    first = null;
    return chunk;
  };
  // Not a generator: one that was never started would not end the inner one.
  return { [Symbol.asyncIterator]: () => ({ next, return: () => rest.return() }) };
}
