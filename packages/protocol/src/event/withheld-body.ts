import { formatHex } from '../log/bytes.ts';
import type { Sha256 } from '../log/merkle.ts';
import { segmentHash } from './commitment.ts';
import {
  bodyLineOf,
  parseProvenJson,
  type SegmentHex,
  type WithholdableSegment,
} from './event-body.ts';
import { eventFields, segmentNames } from './event-fields.ts';
import { segmentTexts } from './event-texts.ts';

/** The changed members of a body line. */
interface BodyJson {
  event: Record<string, unknown>;
  salts: SegmentHex;
  hashes?: SegmentHex;
}

/**
 * A body line without these segments: their values are emptied and their salts replaced by hashes.
 * The rest still verifies, and the values cannot be guessed. Segments that are already withheld
 * stay so. Throws FormatError if the text is not a body line.
 */
export function withholdSegments(
  sha: Sha256,
  line: string | Uint8Array,
  segments: readonly WithholdableSegment[],
): string {
  const value = parseProvenJson(line);
  const { event, salts } = bodyLineOf(value);
  const texts = segmentTexts(event);
  const json = value as BodyJson; // bodyLineOf has checked the shape
  for (const name of segments) {
    const index = segmentNames.indexOf(name);
    const [salt, text] = [salts[index], texts[index]];
    if (!salt || text === undefined || json.salts[name] === undefined) continue;
    json.hashes = { ...json.hashes, [name]: formatHex(segmentHash(sha, index, salt, text)) };
    delete json.salts[name];
    empty(json.event, name);
  }
  return JSON.stringify(json);
}

function empty(event: BodyJson['event'], segment: WithholdableSegment): void {
  for (const { owner, name, kind, segment: own } of eventFields) {
    if (own !== segment) continue;
    const members = owner === null ? event : (event[owner] as BodyJson['event']);
    members[name] = kind === 'diff' ? {} : null;
  }
}
