import { formatHex } from '../log/bytes.ts';
import type { Sha256 } from '../log/merkle.ts';
import { segmentHash, segmentNames, segmentTexts } from './commitment.ts';
import {
  bodyLineOf,
  parseProvenJson,
  type SegmentHex,
  type WithholdableSegment,
} from './event-body.ts';

/** As much of a body line as is changed here. */
interface BodyJson {
  event: {
    actor: { email: unknown; ip: unknown; userAgent: unknown };
    resource: { name: unknown };
    diff: unknown;
    reason: unknown;
    before: unknown;
    after: unknown;
  };
  salts: SegmentHex;
  hashes?: SegmentHex;
}

/**
 * A body line without these segments: their values emptied, their salts replaced by their hashes.
 * The rest still verifies, and nothing about the values can be learnt or guessed from the line.
 * What is withheld already stays so. Throws FormatError for what is no body line.
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
    empty[name](json.event);
  }
  return JSON.stringify(json);
}

const empty: Record<WithholdableSegment, (event: BodyJson['event']) => void> = {
  change(event) {
    event.diff = {};
    event.reason = null;
  },
  identity({ actor, resource }) {
    actor.email = null;
    actor.ip = null;
    actor.userAgent = null;
    resource.name = null;
  },
  state(event) {
    event.before = null;
    event.after = null;
  },
};
