import {
  type BodyCounts,
  BodyPass,
  type BodyPassOptions,
  type CoverClaims,
  changing,
  counted,
  createBodyCover,
  type ErasureRecord,
  entryBytes,
  type Findings,
  HiddenSegments,
  latest,
  type Plan,
  provenCover,
  type WithholdableSegment,
  withholdableSegments,
} from '@indelible/protocol';
import { LineSplitter } from '../import/line-splitter.ts';
import type { Reading } from './entry-file.ts';
import { sha } from './hashing.ts';

type BodiesOptions = Pick<BodyPassOptions, 'checkpoint' | 'beyondCheckpoint'> & {
  tenantId: string | null;
  /** Called for each event that matches its entry. */
  onIntact?: BodyPassOptions['onIntact'];
};

/** Bytes of body lines, and the plan's cutoff stated with them. */
export interface BodyChunk {
  bytes: Uint8Array;
  cutoffMs: number | null;
}

interface BodiesWanted extends BodiesOptions {
  chunks: AsyncIterable<BodyChunk>;
  /** Called for each line before it is checked. */
  onLine?: (line: Uint8Array) => void;
}

/** What is stated and known about retention when the bodies were read. */
interface RetentionClaims extends Pick<CoverClaims, 'plans'> {
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

/** Longer than the line of any event that the service accepts, including computed fields. */
export const bodyLineBytesMax = 8 * 2 ** 20;

/** Compares bodies with their entries; missing ones are decided at the end. */
export class LogBodies {
  readonly #records: Reading['records'];
  readonly #findings: Findings;
  readonly #hidden = new HiddenSegments();
  readonly #pass: BodyPass;
  #cover = createBodyCover({});
  #statedCutoffMs: number | null = null;

  /** `findings`: where to add them, if not to those of `reading`. */
  constructor(reading: Reading, options: BodiesOptions, findings = reading.findings) {
    const { file, records } = reading;
    this.#records = records;
    this.#findings = findings;
    this.#pass = new BodyPass({
      ...options,
      sha,
      findings,
      // An entry that could not be read has a finding already.
      entryAt: (sequence) => (sequence < file.size ? file.at(sequence) : noEntry),
      entriesRead: () => file.size,
      // Decided at the end, when all cutoffs are known.
      cover: { latestCutoffMs: null, absenceOf: (...entry) => this.#cover.absenceOf(...entry) },
      onIntact: (body) => {
        records.take(body.event);
        this.#hidden.take(body);
        options.onIntact?.(body);
      },
    });
  }

  add(line: string | Uint8Array): void {
    this.#pass.add(line);
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
      this.#findings.add('undeclared_withholding', message);
    }
  }

  /**
   * Call it once, after all records of the log were taken, also those after the checkpoint.
   * `latestCutoffMs`: before it bodies may be missing, for any reason. `unproven`: a sentence for
   * each segment whose erasure is only stated.
   */
  finish(judging: RetentionClaims) {
    const { statedCutoffMs = null, withheld = [], statedErasures = [], ...claims } = judging;
    const { erasures } = this.#records;
    this.requireExplained({ withheld, erasures: [...erasures, ...statedErasures] });
    this.addCutoff(statedCutoffMs);
    const stated = { records: this.#records, statedCutoffMs: this.#statedCutoffMs };
    const lasts = {
      lastAbsentOwn: this.#pass.lastAbsentOwn(),
      lastProduced: this.#pass.lastProduced(),
    };
    const { cover, plan } = provenCover({ ...claims, ...stated, ...lasts }, this.#findings);
    this.#cover = cover;
    const counts = countErased(this.#pass.finish(), this.#hidden, { withheld, erasures });
    const { latestCutoffMs } = cover;
    return { counts, latestCutoffMs, plan, unproven: this.#unproven(statedErasures) };
  }

  /** An erasure that is only stated is unproven until the log contains its record. */
  #unproven(stated: readonly ErasureRecord[]): string[] {
    const { erasures } = this.#records;
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
export async function readBodies(reading: Reading, wanted: BodiesWanted): Promise<LogBodies> {
  const { file, findings } = reading;
  const { checkpoint } = wanted;
  // A missing end of the entries is reported already: later bodies have no entry.
  const size = Math.min(checkpoint.size, file.size);
  const isShort = size < checkpoint.size;
  const ofShort = isShort && ({ beyondCheckpoint: 'finding' } as const);
  const bodies = new LogBodies(
    reading,
    { ...wanted, checkpoint: { ...checkpoint, size }, ...ofShort },
    isShort ? endingAt(size, findings) : findings,
  );
  reading.progress.stage('events', size);
  await addChunks(bodies, reading, wanted);
  return bodies;
}

/** Adds the lines of the chunks, which may end within a line. */
export async function addChunks(
  bodies: LogBodies,
  { progress }: Reading,
  { chunks, onLine }: Pick<BodiesWanted, 'chunks' | 'onLine'>,
): Promise<void> {
  const splitter = new LineSplitter(bodyLineBytesMax);
  const take = (lines: Iterable<{ bytes: Uint8Array }>) => {
    let count = 0;
    for (const { bytes } of lines) {
      onLine?.(bytes);
      bodies.add(bytes);
      count += 1;
    }
    progress.advance(count);
  };
  for await (const { bytes, cutoffMs } of chunks) {
    bodies.addCutoff(cutoffMs);
    take(splitter.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)));
  }
  take(splitter.end());
}

/** Events behind the last entry do not show which entry is missing. */
function endingAt(size: number, findings: Findings): Findings {
  return changing(findings, (finding) => {
    if (finding.code !== 'beyond_checkpoint') return finding;
    const { eventId, sequence } = finding;
    const message = `Event ${eventId}, sequence ${sequence}, has no entry: they end at ${size}.`;
    return { ...finding, message, sequence: null };
  });
}

/** What explains a withheld segment: a declaration for every event, or a record of the log. */
type Explained = Required<Pick<RetentionClaims, 'withheld'>> & Pick<Reading['records'], 'erasures'>;

/** The counts, with undeclared withheld segments counted as erased. */
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
