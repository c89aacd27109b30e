import { type Database, write } from '../db.ts';
import type { RecordOwn } from '../own-event.ts';
import { type Origin, outcomeEvent } from './export-event.ts';
import { FileTally, fileChunks } from './file-chunks.ts';
import { type ExportKey, type ExportRow, endExport, type Failure, finishExport } from './store.ts';

export interface StreamDeps {
  db: Database;
  now: () => number;
  recordOwn: RecordOwn;
  onError: (error: unknown) => void;
}

/**
 * The file, to be sent as it is read. Its end is recorded before the last chunk is acknowledged, and so is
 * a reader who stops early or a fault on the way: whoever sends it must then break the connection off, so
 * that a part is never taken for the whole.
 */
export async function* streamExport(
  deps: StreamDeps,
  row: ExportRow,
  origin: Origin,
): AsyncGenerator<Buffer, void, undefined> {
  const { db, now } = deps;
  const tally = new FileTally({ reuse: false });
  let failure: Failure | null = 'aborted';
  try {
    yield* fileChunks(db, now, row, tally);
    failure = 'unexpected';
    await finishStream(deps, row, tally, origin);
    failure = null;
  } catch (error) {
    failure = 'unexpected';
    throw error;
  } finally {
    // A record that cannot be made now is made up for when lost streams are looked for.
    if (failure) await failExport(deps, row, failure, origin).catch(deps.onError);
  }
}

async function finishStream(
  { db, now, recordOwn }: StreamDeps,
  row: ExportRow,
  tally: FileTally,
  origin: Origin,
): Promise<void> {
  await write(db, async (tx) => {
    const finished = await finishExport(tx, row, tally.end(), now(), null);
    if (!finished) throw new Error('an export ended while it was sent');
    await recordOwn(tx, row.tenantId, outcomeEvent(finished, origin));
  });
}

/** Ends an export as failed, and records that; nothing happens when it has ended already. */
export async function failExport(
  { db, now, recordOwn }: StreamDeps,
  key: ExportKey,
  failure: Failure,
  origin?: Origin,
): Promise<void> {
  await write(db, async (tx) => {
    const failed = await endExport(tx, key, { status: 'failed', failure }, now());
    if (failed) await recordOwn(tx, key.tenantId, outcomeEvent(failed, origin));
  });
}

/**
 * A generator whose first chunk is there already, as something to read: what fails before it can still be
 * answered with a problem.
 */
export async function withFirst<T>(
  rest: AsyncGenerator<T, void, undefined>,
): Promise<AsyncIterable<T>> {
  let first: IteratorResult<T, void> | null = await rest.next();
  const next = () => {
    const chunk = first ? Promise.resolve(first) : rest.next();
    first = null;
    return chunk;
  };
  // Not a generator of its own: one that was never begun would not tell the rest to end.
  return { [Symbol.asyncIterator]: () => ({ next, return: () => rest.return() }) };
}
