import { derivedFieldProblem } from '../event/derived-fields.ts';
import {
  commitmentOfBody,
  type EventBody,
  hasStateSegment,
  versionOf,
  withholdsContext,
} from '../event/event-body.ts';
import { uuidFromBytes } from '../event/event-id.ts';
import { equalBytes } from '../log/bytes.ts';
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
