import {
  bodyLineOf,
  type EventBody,
  parseProvenJson,
  type WithholdableSegment,
  withheldSegments,
} from '../event/event-body.ts';
import { eventIdFromUuid, uuidFromBytes, uuidFromEventId, uuidTimeMs } from '../event/event-id.ts';
import type { ErasedSegment } from '../event/hidden-segments.ts';
import { isCount } from '../json/strict-json.ts';
import { FormatError } from '../log/bytes.ts';
import { type Checkpoint, sizedCheckpoint } from '../log/checkpoint.ts';
import { receivedAtUs } from '../log/entry.ts';
import type { Sha256 } from '../log/merkle.ts';
import { type BodyProblem, contentProblem, isOfEvent } from './body-entry.ts';
import type { Finding, Findings } from './findings.ts';
import { clockSlackMs } from './proven-cover.ts';
import type { BodyCover } from './retention-cover.ts';

export interface BodyPassOptions {
  sha: Sha256;
  findings: Findings;
  checkpoint: Checkpoint;
  /** The first sequence that `entryAt` knows; default 0. Bodies before it are findings. */
  first?: number;
  /** The 60 bytes of an entry below the checkpoint's size. The caller may reuse the buffer. */
  entryAt: (sequence: number) => Uint8Array;
  /** How many entries `entryAt` knows at the end; later ones are `unjudged`. Default: all. */
  entriesRead?: () => number;
  /** The entries that may lack a body. */
  cover: BodyCover;
  /** The log's tenant; null accepts any tenant. */
  tenantId?: string | null;
  /**
   * The meaning of a body beyond the checkpoint. In a bundle it is a finding (the default); in a
   * running service it is an event recorded since, checked under a later checkpoint.
   */
  beyondCheckpoint?: 'finding' | 'newer';
  /** Called for each body that matches its entry exactly. */
  onIntact?: (body: EventBody) => void;
}

export interface BodyCounts {
  /** Lines read. */
  bodies: number;
  /** Bodies that match their entry exactly, as far as they are shown. */
  intact: number;
  /** Bodies beyond the checkpoint; not checked. */
  newer: number;
  /** Entries without a body, by explanation. */
  expired: number;
  stated: number;
  outside: number;
  unjudged: number;
  /** Intact bodies that withhold this segment. */
  withheld: Record<WithholdableSegment, number>;
  /** Bodies whose segment was erased according to the log; not counted in `withheld`. */
  erased?: Partial<Record<WithholdableSegment, ErasedSegment>>;
}

/**
 * The second pass over a log: compares bodies, in any order, with the entries that the first pass
 * has verified. Checks id, content, receipt time and derived fields of each. Every entry must have
 * its body once, or a reason for having none. Needs two bits of memory for each entry.
 */
export class BodyPass {
  readonly #options: BodyPassOptions;
  readonly #against: string;
  readonly #sequences: Sequences;
  #lastProduced = -1;
  readonly #counts: BodyCounts = {
    bodies: 0,
    intact: 0,
    newer: 0,
    expired: 0,
    stated: 0,
    outside: 0,
    unjudged: 0,
    withheld: { change: 0, context: 0, identity: 0, state: 0 },
  };

  constructor(options: BodyPassOptions) {
    this.#options = options;
    this.#against = `Against ${sizedCheckpoint(options.checkpoint)}`;
    this.#sequences = new Sequences(options.first ?? 0, options.checkpoint.size);
  }

  /** One body line, without its newline. Never throws. */
  add(line: string | Uint8Array): void {
    this.#counts.bodies += 1;
    const body = readBody(line);
    if ('code' in body) this.#addMalformed(body);
    else this.#judge(body);
  }

  #addMalformed(finding: Finding): void {
    // Marks the sequence as used: its body is damaged, not missing.
    if (finding.sequence !== null) this.#sequences.claim(finding.sequence);
    this.#options.findings.add(finding.code, finding.message, finding);
  }

  #judge(body: EventBody): void {
    const { checkpoint, beyondCheckpoint, findings } = this.#options;
    const { sequence, id } = body.event;
    if (sequence >= checkpoint.size && beyondCheckpoint === 'newer') {
      this.#counts.newer += 1;
      return;
    }
    const problem = this.#problemOf(body);
    if (problem === null) {
      this.#countIntact(body);
      return;
    }
    const [code, why] = problem;
    const message = `${this.#against}: event ${id}, sequence ${sequence}, does not match the log: ${why}.`;
    findings.add(code, message, { sequence, eventId: id });
  }

  #problemOf(body: EventBody): BodyProblem | null {
    const { checkpoint, entryAt, first = 0, sha, tenantId } = this.#options;
    const { sequence } = body.event;
    if (sequence < first || sequence >= checkpoint.size) {
      return ['beyond_checkpoint', 'the log has no such entry'];
    }
    this.#sequences.claim(sequence);
    const entry = entryAt(sequence);
    if (!isOfEvent(entry, body)) {
      const logged = eventIdFromUuid(uuidFromBytes(entry, 12));
      return ['other_event', `the entry there is of event ${logged}`];
    }
    if (!this.#sequences.match(sequence)) return ['repeated_body', 'it appears twice'];
    return contentProblem(sha, body, entry, tenantId);
  }

  #countIntact(body: EventBody): void {
    this.#counts.intact += 1;
    const { sequence, recordedByKind } = body.event;
    const isOwn = recordedByKind === 'service';
    if (!isOwn) this.#lastProduced = Math.max(this.#lastProduced, sequence);
    for (const name of withheldSegments(body)) this.#counts.withheld[name] += 1;
    this.#options.onIntact?.(body);
  }

  /**
   * The last entry without a body that may be an event of the service itself, which has equal times
   * of event and receipt; -1 if there is none. Its content is unknown.
   */
  lastAbsentOwn(): number {
    for (let sequence = this.#end() - 1; sequence >= 0; sequence -= 1) {
      if (this.#sequences.isClaimed(sequence)) continue;
      const entry = this.#options.entryAt(sequence);
      const delayMs = receivedAtUs(entry) / 1000 - uuidTimeMs(uuidFromBytes(entry, 12));
      if (Math.abs(delayMs) <= clockSlackMs) return sequence;
    }
    return -1;
  }

  #end(): number {
    const { checkpoint, entriesRead = () => checkpoint.size } = this.#options;
    return Math.min(checkpoint.size, entriesRead());
  }

  /** The last intact event that the service did not record about itself; -1 if there is none. */
  lastProduced(): number {
    return this.#lastProduced;
  }

  /** Finds entries without a body, reading them in order. Call it once, after the last line. */
  finish(): BodyCounts {
    const { checkpoint, entryAt, cover, findings, first = 0 } = this.#options;
    const end = this.#end();
    this.#counts.unjudged += checkpoint.size - end;
    for (let sequence = first; sequence < end; sequence += 1) {
      if (this.#sequences.isClaimed(sequence)) continue;
      const entry = entryAt(sequence);
      const uuid = uuidFromBytes(entry, 12);
      const absence = cover.absenceOf(sequence, uuidTimeMs(uuid), receivedAtUs(entry) / 1_000);
      if (absence !== 'missing') {
        this.#counts[absence] += 1;
        continue;
      }
      const eventId = eventIdFromUuid(uuid);
      const message =
        `${this.#against}: event ${eventId}, entry ${sequence}, is missing, and no recorded ` +
        'retention explains it.';
      findings.add('missing_body', message, { sequence, eventId });
    }
    return this.#counts;
  }
}

/**
 * Two bits for each entry: whether a body has its sequence, and whether that body is of its event.
 * They grow with the bodies: the size may be a false statement.
 */
class Sequences {
  readonly #first: number;
  readonly #size: number;
  #bits = new Uint8Array(1_024);

  constructor(first: number, size: number) {
    this.#first = first;
    this.#size = size;
  }

  claim(sequence: number): void {
    if (sequence >= this.#first && sequence < this.#size) this.#set(sequence, 1);
  }

  /** False if this sequence was matched before. */
  match(sequence: number): boolean {
    if ((this.#get(sequence) & 2) !== 0) return false;
    this.#set(sequence, 2);
    return true;
  }

  isClaimed(sequence: number): boolean {
    return this.#get(sequence) !== 0;
  }

  #get(sequence: number): number {
    const index = sequence - this.#first;
    return ((this.#bits[Math.floor(index / 4)] ?? 0) >> ((index % 4) * 2)) & 3;
  }

  #set(sequence: number, bit: number): void {
    const index = sequence - this.#first;
    const at = Math.floor(index / 4);
    if (at >= this.#bits.length) {
      const grown = new Uint8Array(2 * at);
      grown.set(this.#bits);
      this.#bits = grown;
    }
    this.#bits[at] = (this.#bits[at] ?? 0) | (bit << ((index % 4) * 2));
  }
}

/** The body, or the finding for the line, with its sequence if the line shows one. */
function readBody(line: string | Uint8Array): EventBody | Finding {
  let value: unknown;
  try {
    value = parseProvenJson(line);
    return bodyLineOf(value);
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    const { sequence, id } = eventMembersOf(value);
    const isEventId = typeof id === 'string' && uuidFromEventId(id) !== null;
    return {
      code: 'malformed_body',
      sequence: isCount(sequence) ? sequence : null,
      eventId: isEventId ? id : null,
      message: `A body is not an event: ${error.message}.`,
    };
  }
}

function eventMembersOf(value: unknown): { sequence?: unknown; id?: unknown } {
  const event = typeof value === 'object' && value !== null && 'event' in value && value.event;
  return typeof event === 'object' && event !== null ? event : {};
}
