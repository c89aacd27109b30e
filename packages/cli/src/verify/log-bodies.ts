import {
  type BodyCounts,
  BodyPass,
  type BodyPassOptions,
  type Checkpoint,
  type CoverClaims,
  counted,
  createBodyCover,
  type ErasureRecord,
  entryBytes,
  type Findings,
  HiddenSegments,
  latest,
  type Plan,
  type ProvenCover,
  provenCover,
  type ServiceRecords,
  type WithholdableSegment,
  withholdableSegments,
} from '@indelible/protocol';
import { LineSplitter } from '../import/line-splitter.ts';
import { type BodyChunk, type ComparedWanted, comparedChunks } from './body-threads.ts';
import { addDamage, changing } from './damage.ts';
import type { EntryFile } from './entry-file.ts';
import { sha } from './hashing.ts';
import type { Progress } from './log-source.ts';

export interface BodiesOptions {
  checkpoint: Checkpoint;
  file: EntryFile;
  findings: Findings;
  tenantId: string | null;
  /** Takes the service's records in the log. */
  records: ServiceRecords;
  beyondCheckpoint?: NonNullable<BodyPassOptions['beyondCheckpoint']>;
}

export interface BodiesWanted extends BodiesOptions {
  chunks: AsyncIterable<BodyChunk>;
  /** From `readEntries`: then events without an entry do not show the first damage. */
  isGap?: boolean;
  /** Called for each line before it is checked. */
  onLine?: (line: Uint8Array) => void;
  /** The threads that compare lines; default: by the log's size and the machine. */
  threads?: number | undefined;
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
  /** Erasures that are stated, and not yet recorded in the log. */
  statedErasures?: readonly ErasureRecord[];
  /** A cutoff stated for all bodies, besides those of each chunk. */
  statedCutoffMs?: number | null;
}

export interface BodiesJudged {
  counts: BodyCounts;
  /** The latest time before which bodies may be missing, for any reason. */
  latestCutoffMs: number | null;
  plan: ProvenCover['plan'];
  /** Erasures that are only stated, a sentence for each segment. */
  unproven: string[];
}

/** Longer than the line of any event that the service accepts, including computed fields. */
export const bodyLineBytesMax = 8 * 2 ** 20;

/** Compares bodies with their entries; missing ones are decided at the end. */
export class LogBodies {
  readonly #options: BodiesOptions;
  readonly #hidden = new HiddenSegments();
  readonly #pass: BodyPass;
  #cover = createBodyCover({});
  #statedCutoffMs: number | null = null;

  constructor(options: BodiesOptions) {
    this.#options = options;
    const { file, records } = options;
    this.#pass = new BodyPass({
      ...options,
      sha,
      // An entry that could not be read has a finding already.
      entryAt: (sequence) => (sequence < file.size ? file.at(sequence) : noEntry),
      // Decided at the end, when all cutoffs are known.
      cover: {
        latestCutoffMs: null,
        absenceOf: (sequence, ...times) =>
          sequence < file.size ? this.#cover.absenceOf(sequence, ...times) : 'unjudged',
      },
      onIntact: (body) => {
        records.take(body.event);
        this.#hidden.take(body);
      },
    });
  }

  /** `intact`: the sequence that `intactSequence` has found. */
  add(line: string | Uint8Array, intact = -1): void {
    if (intact === -1 || !this.#pass.addIntact(intact)) this.#pass.add(line);
  }

  /** Time passes while pages are read, and moves the cutoff that is stated with them. */
  addCutoff(cutoffMs: number | null): void {
    this.#statedCutoffMs = latest(this.#statedCutoffMs, cutoffMs);
  }

  /**
   * A withheld segment must be declared, or erased according to the log; otherwise withholding
   * could hide content. `which` names the events in the error text.
   */
  requireExplained({ withheld, erasures }: Explained, which = 'events'): void {
    for (const name of withholdableSegments) {
      const count = withheld.includes(name) ? 0 : this.#hidden.unexplained(name, erasures);
      if (count === 0) continue;
      const message =
        `${count} ${which} lack their ${name}, and neither the bundle nor a record of the ` +
        'log explains it.';
      addDamage(this.#options.findings, 'undeclared_withholding', message);
    }
  }

  /** Call it once, after all records of the log were taken, also those after the checkpoint. */
  finish(judging: RetentionClaims): BodiesJudged {
    const { statedCutoffMs = null, withheld = [], statedErasures = [], ...claims } = judging;
    const { records, findings } = this.#options;
    const { erasures } = records;
    this.requireExplained({ withheld, erasures: [...erasures, ...statedErasures] });
    this.addCutoff(statedCutoffMs);
    const stated = { records, statedCutoffMs: this.#statedCutoffMs };
    const lasts = {
      lastAbsentOwn: this.#pass.lastAbsentOwn(),
      lastProduced: this.#pass.lastProduced(),
    };
    const { cover, plan } = provenCover({ ...claims, ...stated, ...lasts }, findings);
    this.#cover = cover;
    const counts = countErased(this.#pass.finish(), this.#hidden, { withheld, erasures });
    const { latestCutoffMs } = cover;
    return { counts, latestCutoffMs, plan, unproven: this.#unproven(statedErasures) };
  }

  /** An erasure that is only stated is unproven until the log contains its record. */
  #unproven(stated: readonly ErasureRecord[]): string[] {
    const { erasures } = this.#options.records;
    return withholdableSegments.flatMap((name) => {
      const open = this.#hidden.unexplained(name, erasures);
      const count = open - this.#hidden.unexplained(name, [...erasures, ...stated]);
      if (count === 0) return [];
      return [
        `${counted(count, 'event lacks its', 'events lack their')} ${name}: the archive ` +
          "states the erasure, but ends before the log's record of it. The next archive run adds the record.",
      ];
    });
  }
}

const noEntry = new Uint8Array(entryBytes);

/** Compares every body with its entry; `finish` of the result finds entries without a body. */
export async function readBodies(wanted: BodiesWanted): Promise<LogBodies> {
  const { file, checkpoint, findings, progress, isGap = false } = wanted;
  // A missing end of the entries is reported already: later bodies have no entry.
  const size = Math.min(checkpoint.size, file.size);
  const isShort = size < checkpoint.size;
  const bodies = new LogBodies({
    ...wanted,
    checkpoint: { ...checkpoint, size },
    ...(isShort && { findings: endingAt(size, findings, isGap), beyondCheckpoint: 'finding' }),
  });
  progress.stage('events', size);
  await addChunks(bodies, { ...wanted, size });
  return bodies;
}

/** Adds the lines of the chunks; other threads compare ordinary ones. */
export async function addChunks(
  bodies: LogBodies,
  wanted: ComparedWanted & Pick<BodiesWanted, 'onLine' | 'progress'>,
): Promise<void> {
  const { onLine, progress } = wanted;
  const lines = new LineSplitter(bodyLineBytesMax);
  const take = (line: { bytes: Uint8Array }, intact?: number) => {
    onLine?.(line.bytes);
    bodies.add(line.bytes, intact);
  };
  for await (const { bytes, cutoffMs, intact } of comparedChunks(wanted)) {
    bodies.addCutoff(cutoffMs);
    let count = 0;
    for (const line of lines.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length))) {
      take(line, intact[count]);
      count += 1;
    }
    progress.advance(count);
  }
  for (const line of lines.end()) take(line);
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

/** The same counts, with undeclared withheld segments counted as erased. */
function countErased(
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
