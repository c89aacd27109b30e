import {
  type BodyCounts,
  BodyPass,
  type BodyPassOptions,
  type Checkpoint,
  createBodyCover,
  type Findings,
  type RetentionRecord,
} from '@indelible/protocol';
import { LineSplitter } from '../import/line-splitter.ts';
import { changing } from './damage.ts';
import type { EntryFile } from './entry-file.ts';
import { sha } from './hashing.ts';
import type { Progress } from './log-source.ts';

/** Bytes of body lines, and the cutoff of the plan that was stated with them. */
export interface BodyChunk {
  bytes: Uint8Array;
  cutoffMs: number | null;
}

export interface BodiesWanted {
  chunks: AsyncIterable<BodyChunk>;
  checkpoint: Checkpoint;
  file: EntryFile;
  findings: Findings;
  tenantId: string | null;
  /** Statements that bodies are gone, beside the plan's. */
  records: readonly RetentionRecord[];
  beyondCheckpoint: NonNullable<BodyPassOptions['beyondCheckpoint']>;
  /** Sees each line before it is judged. */
  onLine?: (line: Uint8Array) => void;
  progress: Progress;
}

export interface BodiesRead {
  counts: BodyCounts;
  /** The latest cutoff of the plan that was stated. */
  planCutoffMs: number | null;
  /** The latest moment before which bodies may be gone, for any reason. */
  latestCutoffMs: number | null;
}

/** No event the service takes makes a longer line, whatever is computed out of its states. */
export const bodyLineBytesMax = 8 * 2 ** 20;

/** Holds every body against its entry, and looks for entries that lack one. */
export async function readBodies(wanted: BodiesWanted): Promise<BodiesRead> {
  const { chunks, file, checkpoint, findings, tenantId, beyondCheckpoint, onLine } = wanted;
  let planCutoffMs: number | null = null;
  const stated = { cover: createBodyCover({ records: wanted.records }) };
  // An end of the entries has been found already: bodies behind it have nothing to fit.
  const size = Math.min(checkpoint.size, file.size);
  const isShort = size < checkpoint.size;
  const pass = new BodyPass({
    sha,
    findings: isShort ? endingAt(size, findings) : findings,
    checkpoint: { ...checkpoint, size },
    entryAt: (sequence) => file.at(sequence),
    // Asked in the end alone, when all cutoffs are known.
    cover: { latestCutoffMs: null, absenceOf: (...entry) => stated.cover.absenceOf(...entry) },
    tenantId,
    beyondCheckpoint: isShort ? 'finding' : beyondCheckpoint,
  });
  wanted.progress.stage('events', size);
  const lines = new LineSplitter(bodyLineBytesMax);
  const take = (line: { bytes: Uint8Array }) => {
    onLine?.(line.bytes);
    pass.add(line.bytes);
  };
  for await (const { bytes, cutoffMs } of chunks) {
    // Time goes on while pages are read, and with it the cutoff.
    if (cutoffMs !== null) planCutoffMs = Math.max(cutoffMs, planCutoffMs ?? cutoffMs);
    let count = 0;
    for (const line of lines.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length))) {
      take(line);
      count += 1;
    }
    wanted.progress.advance(count);
  }
  for (const line of lines.end()) take(line);
  stated.cover = createBodyCover({ records: wanted.records, planCutoffMs });
  const counts = pass.finish();
  return { counts, planCutoffMs, latestCutoffMs: stated.cover.latestCutoffMs };
}

function endingAt(size: number, findings: Findings): Findings {
  return changing(findings, (finding) => {
    if (finding.code !== 'beyond_checkpoint') return finding;
    const { eventId, sequence } = finding;
    const message = `Event ${eventId}, sequence ${sequence}, has no entry: they end at ${size}.`;
    return { ...finding, message };
  });
}
