import { repeating } from '../background/every.ts';
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
  type FinishedFile,
  finishExport,
  keepStream,
  type PartOfFile,
} from './store.ts';

/** What a tenant may have of exports that are made in the background, and all of those sent. */
export interface ExportQuota {
  /** Files of all tenants that are sent at the same time. */
  sentMax: number;
  /** Waiting or being made. */
  unfinishedMax: number;
  /** The most bytes of kept files. */
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
    yield* fileChunks(parts.db, row, tally);
    failure = 'unexpected';
    if (!(await finish(parts, row, tally.end(), whence))) {
      throw new Error('an export ended while it was sent');
    }
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

/** How long the file of a job is kept. */
const keptMs = 7 * 86_400_000;

/** Ends an export with its file. False if it has ended otherwise, or by another worker. */
export async function finish(
  parts: ExportParts,
  row: ExportRow,
  file: FinishedFile,
  whence?: Whence,
): Promise<boolean> {
  const nowMs = parts.now();
  const expiresAtMs = row.mode === 'job' ? nowMs + keptMs : null;
  return ended(parts, (tx) => finishExport(tx, row, file, nowMs, expiresAtMs), whence);
}

/** Ends an export as failed; no effect if it has ended already. */
export async function failExport(
  parts: ExportParts,
  key: ExportKey,
  failure: Failure,
  sent: PartOfFile | null = null,
  whence?: Whence,
): Promise<void> {
  const end = { status: 'failed', failure } as const;
  await ended(parts, (tx) => endExport(tx, key, end, parts.now(), sent), whence);
}

/** The end of an export with its record and, of a job, its mail; false if `end` finds none. */
async function ended(
  { db, jobs, recordOwn }: ExportParts,
  end: (tx: WriterTx) => Promise<ExportRow | null>,
  whence: Whence | undefined,
): Promise<boolean> {
  const hasEnded = await write(db, async (tx) => {
    const row = await end(tx);
    if (row === null) return false;
    const { tenantId, id } = row;
    if (row.mode === 'job') {
      await jobs.send(tx, 'export-mail', { data: { tenantId, id }, tenantId });
    }
    await recordOwn(tx, tenantId, outcomeEvent(row, whence));
    return true;
  });
  jobs.wake();
  return hasEnded;
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
