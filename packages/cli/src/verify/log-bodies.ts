import {
  type BodyCounts,
  BodyPass,
  type BodyPassOptions,
  type Checkpoint,
  type CoverClaims,
  createBodyCover,
  type ErasureRecord,
  type Findings,
  HiddenSegments,
  type Plan,
  type ProvenCover,
  provenCover,
  type ServiceRecords,
  type WithholdableSegment,
  withholdableSegments,
} from '@indelible/protocol';
import { LineSplitter } from '../import/line-splitter.ts';
import { addDamage, changing } from './damage.ts';
import type { EntryFile } from './entry-file.ts';
import { sha } from './hashing.ts';
import type { Progress } from './log-source.ts';

/** Bytes of body lines, and the plan's cutoff stated with them. */
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
  /** Takes the service's records in the log. */
  records: ServiceRecords;
  /** From `readEntries`: then events without an entry do not show the first damage. */
  isGap?: boolean;
  beyondCheckpoint: NonNullable<BodyPassOptions['beyondCheckpoint']>;
  /** Called for each line before it is checked. */
  onLine?: (line: Uint8Array) => void;
  progress: Progress;
}

/** What is stated and known about retention when the bodies were read. */
export interface RetentionClaims extends Pick<CoverClaims, 'plans'> {
  nowMs: number;
  statedPlan: Plan | null;
  /** The tenant's plan according to the user. */
  knownPlan: Plan | null;
  /** Segments declared as withheld in every event. */
  withheld?: readonly WithholdableSegment[];
  /** A cutoff stated for all bodies, besides those of each chunk. */
  statedCutoffMs?: number | null;
}

/** Bodies compared with their entries; missing ones are not yet decided. */
export interface BodiesRead {
  /** Call it once, after all records of the log were taken, also those after the checkpoint. */
  finish(claims: RetentionClaims): BodiesJudged;
}

export interface BodiesJudged {
  counts: BodyCounts;
  /** The latest time before which bodies may be missing, for any reason. */
  latestCutoffMs: number | null;
  plan: ProvenCover['plan'];
}

/** Longer than the line of any event that the service accepts, including computed fields. */
export const bodyLineBytesMax = 8 * 2 ** 20;

/** Compares every body with its entry; `finish` of the result finds entries without a body. */
export async function readBodies(wanted: BodiesWanted): Promise<BodiesRead> {
  const { chunks, file, checkpoint, findings, tenantId, beyondCheckpoint, onLine } = wanted;
  let pageCutoffMs: number | null = null;
  const hidden = new HiddenSegments();
  const judged = { cover: createBodyCover({}) };
  // A missing end of the entries is reported already: later bodies have no entry.
  const size = Math.min(checkpoint.size, file.size);
  const isShort = size < checkpoint.size;
  const pass = new BodyPass({
    sha,
    findings: isShort ? endingAt(size, findings, wanted.isGap ?? false) : findings,
    checkpoint: { ...checkpoint, size },
    entryAt: (sequence) => file.at(sequence),
    // Decided at the end, when all cutoffs are known.
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
    // Time passes while pages are read, and moves the cutoff.
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

/** The accepted explanations of a withheld segment. */
interface Explained {
  /** Segments declared as withheld in every event. */
  withheld: readonly WithholdableSegment[];
  /** As the log itself records them. */
  erasures: readonly ErasureRecord[];
}

/**
 * A withheld segment must be declared, or erased according to the log; otherwise withholding could
 * hide content. `which` names the events in the error text.
 */
export function requireExplained(
  hidden: HiddenSegments,
  { withheld, erasures }: Explained,
  findings: Findings,
  which = 'events',
): void {
  for (const name of withholdableSegments) {
    const count = withheld.includes(name) ? 0 : hidden.unexplained(name, erasures);
    if (count === 0) continue;
    const message =
      `${count} ${which} lack their ${name}, and neither the bundle nor a record of the ` +
      'log explains it.';
    addDamage(findings, 'undeclared_withholding', message);
  }
}

/** The same counts, with undeclared withheld segments counted as erased. */
export function countErased(
  counts: BodyCounts,
  hidden: HiddenSegments,
  { withheld, erasures }: Explained,
): BodyCounts {
  for (const name of withholdableSegments) {
    const erased = withheld.includes(name) ? null : hidden.erased(name, erasures);
    if (erased === null || erased.events === 0) continue;
    counts.withheld[name] -= erased.events;
    counts.erased = { ...counts.erased, [name]: erased };
  }
  return counts;
}
