import type { IndelibleClient } from '@indelible/client';
import type { Plan } from '@indelible/protocol';
import type { FindingsFile } from './findings-file.ts';
import { Lanes } from './lanes.ts';
import { isBlank, type Line, LineSplitter } from './line-splitter.ts';
import { createSending } from './sending.ts';
import type { Source } from './source.ts';
import { SourceIdTable } from './source-id-table.ts';
import { type LineRefusal, type SourceEvent, takeLine } from './source-line.ts';
import { addConflict, countIn, type Tally } from './tally.ts';

export interface ImportRun {
  client: IndelibleClient;
  source: Source;
  tally: Tally;
  rejected: FindingsFile;
  conflicts: FindingsFile;
  tenantDefault: string | null;
  createTenants: Plan | null;
  /** Stops reading; batches in flight are still settled. */
  stop: AbortController;
  /** Aborts everything. */
  signal: AbortSignal;
}

const limits = {
  lanes: 4,
  batchEventsMax: 500,
  batchBytesMax: 4 * 2 ** 20,
  queuedEventsMax: 4_000,
  queuedTextMax: 32 * 2 ** 20,
};

/**
 * Imports a source from its first line to its last, or until `stop`. The outcome is in `tally` and
 * in the two files, also after an error. Memory grows only with the table of source ids (27 to 53
 * bytes each). Throws errors of reading and sending.
 */
export async function runImport(run: ImportRun): Promise<void> {
  const send = createSending({
    ...run,
    reject: (event, refusal) => reject(run, event.line, refusal),
  });
  const lanes = new Lanes<SourceEvent>(limits, async (batch) => {
    try {
      await send(batch);
    } catch (error) {
      // The reader may be waiting for input that never comes.
      run.stop.abort(error);
      throw error;
    }
  });
  try {
    await readAll(run, lanes);
    await lanes.drained();
  } catch (error) {
    await lanes.dropWaiting();
    throw error;
  } finally {
    run.rejected.close();
    run.conflicts.close();
  }
}

async function readAll(run: ImportRun, lanes: Lanes<SourceEvent>): Promise<void> {
  const splitter = new LineSplitter();
  const sourceIds = new SourceIdTable();
  const take = async (lines: Iterable<Line>) => {
    for (const line of lines) {
      run.stop.signal.throwIfAborted();
      if (isBlank(line)) continue;
      takeOne(run, lanes, sourceIds, line);
      if (lanes.full) await lanes.room();
    }
  };
  for await (const chunk of run.source.chunks) await take(splitter.push(chunk));
  run.stop.signal.throwIfAborted();
  await take(splitter.end());
}

function takeOne(
  run: ImportRun,
  lanes: Lanes<SourceEvent>,
  sourceIds: SourceIdTable,
  line: Line,
): void {
  run.tally.lines += 1;
  run.tally.lastLine = line.number;
  const taken = takeLine(line, run.tenantDefault);
  if ('refusal' in taken) {
    reject(run, line, taken.refusal);
    return;
  }
  const { source, tenantId } = taken.event;
  const firstLine = source && sourceIds.note(source.key, source.content, line.number);
  if (source && firstLine) {
    const conflict = { sourceId: source.id, tenantId, firstLine, line: line.number };
    addConflict(run.tally, conflict);
    run.conflicts.append(conflict);
  }
  lanes.add(taken.event);
}

function reject(run: ImportRun, line: Line, refusal: LineRefusal): void {
  run.tally.rejected += 1;
  countIn(run.tally.rejectedByCode, refusal.code);
  run.rejected.append({ line: line.number, ...refusal, ...contentOf(line) });
}

/** As text if it is UTF-8, else in base64. */
function contentOf({ bytes, tooLong }: Line): { text: string } | { base64: string } {
  const text = bytes.toString();
  // A cut line may end within a character.
  return tooLong || Buffer.from(text).equals(bytes)
    ? { text }
    : { base64: bytes.toString('base64') };
}
