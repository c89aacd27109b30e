import { isSequence } from '../event/committed-event.ts';
import { derivedFieldProblem } from '../event/derived-fields.ts';
import {
  bodyLineOf,
  commitmentOfBody,
  type EventBody,
  hasStateSegment,
  parseProvenJson,
  type WithholdableSegment,
  withheldSegments,
} from '../event/event-body.ts';
import {
  eventIdFromUuid,
  uuidBytes,
  uuidFromBytes,
  uuidFromEventId,
  uuidTimeMs,
} from '../event/event-id.ts';
import type { ErasedSegment } from '../event/hidden-segments.ts';
import { readPlainBody } from '../event/plain-body.ts';
import { decodeUtf8, equalBytes } from '../log/bytes.ts';
import { type Checkpoint, sizedCheckpoint } from '../log/checkpoint.ts';
import { FormatError } from '../log/format-error.ts';
import type { Sha256 } from '../log/merkle.ts';
import type { Finding, FindingCode, Findings } from './findings.ts';
import { clockSlackMs } from './proven-cover.ts';
import type { BodyCover } from './retention-cover.ts';

export interface BodyPassOptions {
  sha: Sha256;
  findings: Findings;
  checkpoint: Checkpoint;
  /** The 60 bytes of an entry below the checkpoint's size; may be reused for the next call. */
  entryAt: (sequence: number) => Uint8Array;
  /** Which entries may lack a body. */
  cover: BodyCover;
  /** The tenant whose log it is; null to accept whatever the bodies say. */
  tenantId?: string | null;
  /**
   * What a body is that the checkpoint does not reach: in a bundle a finding (the default); in a
   * running service an event recorded since, to be held against a later checkpoint.
   */
  beyondCheckpoint?: 'finding' | 'newer';
  /** Sees each body that is exactly what its entry commits to. */
  onIntact?: (body: EventBody) => void;
}

export interface BodyCounts {
  /** Lines taken. */
  bodies: number;
  /** Bodies that are exactly what their entry commits to, as far as they are shown. */
  intact: number;
  /** Bodies that the checkpoint does not reach; nothing is known of them. */
  newer: number;
  /** Entries without a body, by what explains it. */
  expired: number;
  stated: number;
  outside: number;
  unjudged: number;
  /** Intact bodies that keep this segment back. */
  withheld: Record<WithholdableSegment, number>;
  /** Of these, not counted there: bodies of which it was erased, on record of the log. */
  erased?: Partial<Record<WithholdableSegment, ErasedSegment>>;
}

type Problem = [FindingCode, string];

/**
 * The second pass over a log: holds bodies, in any order, against the entries
 * that the first pass has found to be the checkpoint's. Checks id, content,
 * time of receipt and derived fields of each, and that each entry has its
 * body once or a reason to have none. Needs two bits of memory an entry.
 */
export class BodyPass {
  readonly #options: BodyPassOptions;
  readonly #against: string;
  readonly #places: Places;
  readonly #uuid = new Uint8Array(16);
  readonly #counts: BodyCounts = {
    bodies: 0,
    intact: 0,
    newer: 0,
    expired: 0,
    stated: 0,
    outside: 0,
    unjudged: 0,
    withheld: { change: 0, identity: 0, state: 0 },
  };

  constructor(options: BodyPassOptions) {
    this.#options = options;
    this.#against = `Against ${sizedCheckpoint(options.checkpoint)}`;
    this.#places = new Places(options.checkpoint.size);
  }

  /** One body line, without its newline. Whatever it says, it never throws. */
  add(line: string | Uint8Array): void {
    this.#counts.bodies += 1;
    const body = readBody(line);
    if ('code' in body) this.#addMalformed(body);
    else this.#judge(body);
  }

  #addMalformed(finding: Finding): void {
    // Its place is taken: what it should have said is damaged, not missing.
    if (finding.sequence !== null) this.#places.claim(finding.sequence);
    this.#options.findings.add(finding);
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
    findings.add({ code, sequence, eventId: id, message });
  }

  #problemOf(body: EventBody): Problem | null {
    const { checkpoint, entryAt } = this.#options;
    const { sequence, uuid } = body.event;
    if (sequence >= checkpoint.size) return ['beyond_checkpoint', 'the log has no such entry'];
    this.#places.claim(sequence);
    const entry = entryAt(sequence);
    if (!equalBytes(entry.subarray(12, 28), uuidBytes(uuid, this.#uuid))) {
      const logged = eventIdFromUuid(uuidFromBytes(entry, 12));
      return ['other_event', `the entry there is of event ${logged}`];
    }
    if (!this.#places.match(sequence)) return ['repeated_body', 'it appears twice'];
    return this.#contentProblem(body, entry);
  }

  #contentProblem(body: EventBody, entry: Uint8Array): Problem | null {
    const { sha, tenantId } = this.#options;
    if (!equalBytes(commitmentOfBody(sha, body), entry.subarray(28))) {
      return ['content_mismatch', 'its content does not match the commitment of its entry'];
    }
    const derived = derivedFieldProblem(body.event, hasStateSegment(body), receivedAtUs(entry));
    if (derived !== null) return ['derived_field_mismatch', derived];
    const isOther = typeof tenantId === 'string' && body.event.tenantId !== tenantId;
    return isOther ? ['other_tenant', 'it belongs to another tenant'] : null;
  }

  #countIntact(body: EventBody): void {
    this.#counts.intact += 1;
    for (const name of withheldSegments(body)) this.#counts.withheld[name] += 1;
    this.#options.onIntact?.(body);
  }

  /**
   * The last entry without a body that may be an event of the service's own, which it records at
   * the very time of the event; -1 when there is none. Whatever it said, nobody knows.
   */
  lastAbsentOwn(): number {
    for (let sequence = this.#options.checkpoint.size - 1; sequence >= 0; sequence -= 1) {
      if (this.#places.isClaimed(sequence)) continue;
      const entry = this.#options.entryAt(sequence);
      const delayMs = receivedAtUs(entry) / 1000 - uuidTimeMs(uuidFromBytes(entry, 12));
      if (Math.abs(delayMs) <= clockSlackMs) return sequence;
    }
    return -1;
  }

  /** Looks for entries without a body; once, after the last line. Reads those entries in order. */
  finish(): BodyCounts {
    const { checkpoint, entryAt, cover, findings } = this.#options;
    for (let sequence = 0; sequence < checkpoint.size; sequence += 1) {
      if (this.#places.isClaimed(sequence)) continue;
      const uuid = uuidFromBytes(entryAt(sequence), 12);
      const absence = cover.absenceOf(sequence, uuidTimeMs(uuid));
      if (absence !== 'missing') {
        this.#counts[absence] += 1;
        continue;
      }
      const eventId = eventIdFromUuid(uuid);
      const message =
        `${this.#against}: event ${eventId}, entry ${sequence}, is missing, and no recorded ` +
        'retention explains it.';
      findings.add({ code: 'missing_body', sequence, eventId, message });
    }
    return this.#counts;
  }
}

function receivedAtUs(entry: Uint8Array): number {
  const view = new DataView(entry.buffer, entry.byteOffset, entry.length);
  return view.getUint32(4) * 2 ** 32 + view.getUint32(8);
}

/**
 * Of each entry two bits: whether a body claimed its place, and whether it was that of its event.
 */
class Places {
  readonly #size: number;
  readonly #bits: Uint8Array;

  constructor(size: number) {
    this.#size = size;
    this.#bits = new Uint8Array(Math.ceil(size / 4));
  }

  claim(sequence: number): void {
    if (sequence < this.#size) this.#set(sequence, 1);
  }

  /** False when the place has been matched before. */
  match(sequence: number): boolean {
    if ((this.#get(sequence) & 2) !== 0) return false;
    this.#set(sequence, 2);
    return true;
  }

  isClaimed(sequence: number): boolean {
    return this.#get(sequence) !== 0;
  }

  #get(sequence: number): number {
    return ((this.#bits[Math.floor(sequence / 4)] ?? 0) >> ((sequence % 4) * 2)) & 3;
  }

  #set(sequence: number, bit: number): void {
    const at = Math.floor(sequence / 4);
    this.#bits[at] = (this.#bits[at] ?? 0) | (bit << ((sequence % 4) * 2));
  }
}

/** The body, or what is wrong with the line: with its place, as far as the line still tells it. */
function readBody(line: string | Uint8Array): EventBody | Finding {
  let value: unknown;
  try {
    const plain = readPlainBody(typeof line === 'string' ? line : decodeUtf8(line, 'it'));
    if (plain !== null) return plain;
    value = parseProvenJson(line);
    return bodyLineOf(value);
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    const { sequence, id } = eventMembersOf(value);
    const isEventId = typeof id === 'string' && uuidFromEventId(id) !== null;
    return {
      code: 'malformed_body',
      sequence: isSequence(sequence) ? sequence : null,
      eventId: isEventId ? id : null,
      message: `A body is not an event: ${error.message}.`,
    };
  }
}

function eventMembersOf(value: unknown): { sequence?: unknown; id?: unknown } {
  const event = typeof value === 'object' && value !== null && 'event' in value && value.event;
  return typeof event === 'object' && event !== null ? event : {};
}
