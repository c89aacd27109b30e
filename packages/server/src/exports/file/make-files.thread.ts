import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { openObjectStore } from '../../objects/open-store.ts';
import { openDatabase } from '../../postgres/db.ts';
import type { ExportRow, Failure, FinishedFile } from '../store.ts';
import { objectName } from './export-file.ts';
import { asItIsWritten, FileTally, fileChunks } from './file-chunks.ts';

/* The program of the thread that makes export files; see file-thread.ts. */

export interface ThreadSettings {
  databaseUrl: string;
  poolerUrl: string | null;
  objectStoreUrl: string;
}

/** A file to make. Reports go to `port`; a message from there stops it. */
export interface FileRequest {
  row: ExportRow;
  port: MessagePort;
}

export type FileNews = { rows: number } | { error: unknown } | { outcome: FinishedFile | Failure };

/** A page being processed and a page being read, for each of a few files. */
const poolSize = 6;
const newsEveryMs = 250;

const { databaseUrl, poolerUrl, objectStoreUrl } = workerData as ThreadSettings;
const objects = openObjectStore(objectStoreUrl);
// A connection lost while idle is replaced at the next use.
const db = openDatabase(databaseUrl, { poolSize, poolerUrl, onIdleError: () => {} });

parentPort?.on('message', ({ row, port }: FileRequest) => {
  const tell = (news: FileNews) => port.postMessage(news);
  const stop = new AbortController();
  port.once('message', () => stop.abort(new Error('the file is not wanted any more')));
  void make(row, tell, stop.signal).finally(() => port.close());
});

async function make(
  row: ExportRow,
  tell: (news: FileNews) => void,
  signal: AbortSignal,
): Promise<void> {
  const tally = new FileTally();
  const tellSoFar = () => tell({ rows: tally.rows });
  const timer = setInterval(tellSoFar, newsEveryMs);
  let failure: Failure = 'storage';
  async function* source() {
    try {
      yield* fileChunks(db, row, tally, asItIsWritten, signal);
    } catch (error) {
      failure = 'unexpected';
      throw error;
    }
  }
  try {
    // Otherwise the object of a crashed attempt would stay until the file expires.
    if (row.attempt > 1) await objects.remove(objectName(row));
    await objects.putStream(objectName(row), source(), signal);
    tell({ outcome: tally.end() });
  } catch (error) {
    if (!signal.aborted) tell({ error });
    tellSoFar();
    tell({ outcome: failure });
  } finally {
    clearInterval(timer);
  }
}
