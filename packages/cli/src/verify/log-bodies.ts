import {
  type BodyCounts,
  BodyPass,
  type BodyPassOptions,
  type Checkpoint,
  type CoverClaims,
  createBodyCover,
  type Findings,
  HiddenSegments,
  type Plan,
  type ProvenCover,
  provenCover,
  type ServiceRecords,
  type WithholdableSegment,
} from '@indelible/protocol';
import { LineSplitter } from '../import/line-splitter.ts';
import { changing } from './damage.ts';
import type { EntryFile } from './entry-file.ts';
import { sha } from './hashing.ts';
import { countErased, requireExplained } from './kept-back.ts';
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
  /** Takes what the log says about itself. */
  records: ServiceRecords;
  /**
   * Of `readEntries`: then the first events without an entry are not the first that are damaged.
   */
  isGap?: boolean;
  beyondCheckpoint: NonNullable<BodyPassOptions['beyondCheckpoint']>;
  /** Sees each line before it is judged. */
  onLine?: (line: Uint8Array) => void;
  progress: Progress;
}

/** What is stated and known about retention, at the moment the bodies are of. */
export interface RetentionClaims extends Pick<CoverClaims, 'plans'> {
  nowMs: number;
  statedPlan: Plan | null;
  /** The plan the caller knows the tenant to have. */
  knownPlan: Plan | null;
  /** Segments that are said to be kept back in every event. */
  withheld?: readonly WithholdableSegment[];
  /** A cutoff stated for all bodies, beside those stated with each chunk. */
  statedCutoffMs?: number | null;
}

/** Bodies that were held against their entries; which are missing is still to be judged. */
export interface BodiesRead {
  /**
   * Once, when all records of the log have been taken, of the events since the checkpoint as well.
   */
  finish(claims: RetentionClaims): BodiesJudged;
}

export interface BodiesJudged {
  counts: BodyCounts;
  /** The latest moment before which bodies may be gone, for any reason. */
  latestCutoffMs: number | null;
  plan: ProvenCover['plan'];
}

/** No event the service takes makes a longer line, whatever is computed out of its states. */
export const bodyLineBytesMax = 8 * 2 ** 20;

/**
 * Holds every body against its entry; `finish` of what it returns looks for entries that lack one.
 */
export async function readBodies(wanted: BodiesWanted): Promise<BodiesRead> {
  const { chunks, file, checkpoint, findings, tenantId, beyondCheckpoint, onLine } = wanted;
  let pageCutoffMs: number | null = null;
  const hidden = new HiddenSegments();
  const judged = { cover: createBodyCover({}) };
  // An end of the entries has been found already: bodies behind it have nothing to fit.
  const size = Math.min(checkpoint.size, file.size);
  const isShort = size < checkpoint.size;
  const pass = new BodyPass({
    sha,
    findings: isShort ? endingAt(size, findings, wanted.isGap ?? false) : findings,
    checkpoint: { ...checkpoint, size },
    entryAt: (sequence) => file.at(sequence),
    // Asked in the end alone, when all cutoffs are known.
    cover: { latestCutoffMs: null, absenceOf: (...entry) => judged.cover.absenceOf(...entry) },
    tenantId,
    beyondCheckpoint: isShort ? 'finding' : beyondCheckpoint,
    onIntact: (body) => {
      wanted.records.take(body.event);
      hidden.take(body);
    },
  });
  wanted.progress.stage('events', size);
  const lines = new LineSplitter(bodyLineBytesMax);
  const take = (line: { bytes: Uint8Array }) => {
    onLine?.(line.bytes);
    pass.add(line.bytes);
  };
  for await (const { bytes, cutoffMs } of chunks) {
    // Time goes on while pages are read, and with it the cutoff.
    pageCutoffMs = later(pageCutoffMs, cutoffMs);
    let count = 0;
    for (const line of lines.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length))) {
      take(line);
      count += 1;
    }
    wanted.progress.advance(count);
  }
  for (const line of lines.end()) take(line);
  return {
    finish({ statedCutoffMs = null, withheld = [], ...claims }) {
      const { erasures } = wanted.records;
      requireExplained(hidden, { withheld, erasures }, findings);
      const { cover, plan } = provenCover(
        {
          ...claims,
          records: wanted.records,
          lastAbsentOwn: pass.lastAbsentOwn(),
          statedCutoffMs: later(statedCutoffMs, pageCutoffMs),
        },
        findings,
      );
      judged.cover = cover;
      return {
        counts: countErased(pass.finish(), hidden, { withheld, erasures }),
        latestCutoffMs: cover.latestCutoffMs,
        plan,
      };
    },
  };
}

function later(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.max(one, other);
}

function endingAt(size: number, findings: Findings, isGap: boolean): Findings {
  return changing(findings, (finding) => {
    if (finding.code !== 'beyond_checkpoint') return finding;
    const { eventId, sequence } = finding;
    const message = `Event ${eventId}, sequence ${sequence}, has no entry: they end at ${size}.`;
    return { ...finding, message, ...(isGap && { sequence: null }) };
  });
}
