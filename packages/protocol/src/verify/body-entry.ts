import { derivedFieldProblem } from '../event/derived-fields.ts';
import {
  commitmentOfBody,
  type EventBody,
  hasStateSegment,
  noHashes,
  parseBodyLine,
  versionOf,
  withholdsContext,
} from '../event/event-body.ts';
import { uuidFromBytes } from '../event/event-id.ts';
import { equalBytes, readOrNull } from '../log/bytes.ts';
import { receivedAtUs } from '../log/entry.ts';
import type { Sha256 } from '../log/merkle.ts';
import type { FindingCode } from './findings.ts';

/** A finding's code, and why. */
export type BodyProblem = [FindingCode, string];

/** Whether the entry is of the body's event. */
export function isOfEvent(entry: Uint8Array, { event }: EventBody): boolean {
  return uuidFromBytes(entry, 12) === event.uuid;
}

/** What differs between an event and its entry, or between its own fields; null if nothing. */
export function contentProblem(
  sha: Sha256,
  body: EventBody,
  entry: Uint8Array,
  tenantId?: string | null,
): BodyProblem | null {
  const version = entry[0];
  if (version !== versionOf(body)) {
    const has = version === 1 ? 'has' : 'lacks';
    const why = `its entry is of version ${version}, but it ${has} the segment context`;
    return ['content_mismatch', why];
  }
  if (!equalBytes(commitmentOfBody(sha, body), entry.subarray(28))) {
    return ['content_mismatch', 'its content does not match the commitment of its entry'];
  }
  const [hasState, receivedUs] = [hasStateSegment(body), receivedAtUs(entry)];
  const derived = derivedFieldProblem(body.event, hasState, receivedUs, withholdsContext(body));
  if (derived !== null) return ['derived_field_mismatch', derived];
  const isOther = typeof tenantId === 'string' && body.event.tenantId !== tenantId;
  return isOther ? ['other_tenant', 'it belongs to another tenant'] : null;
}

/** The entries that body lines are compared with, from sequence 0. */
export interface BodyEntries {
  size: number;
  /** The 60 bytes of an entry below `size`. */
  entryAt: (sequence: number) => Uint8Array;
  tenantId: string | null;
}

/**
 * The sequence of a body line that withholds nothing and matches its entry:
 * `BodyPass.addIntact` takes it from another thread. -1 for any other line, and for the service's
 * own events, which are records of what it did: `BodyPass.add` judges those.
 */
export function intactSequence(sha: Sha256, line: Uint8Array, against: BodyEntries): number {
  const body = readOrNull(() => parseBodyLine(line));
  if (body === null || body.hashes !== noHashes) return -1;
  if (body.event.recordedByKind === 'service') return -1;
  const { sequence } = body.event;
  if (sequence >= against.size) return -1;
  const entry = against.entryAt(sequence);
  if (!isOfEvent(entry, body)) return -1;
  return contentProblem(sha, body, entry, against.tenantId) === null ? sequence : -1;
}
