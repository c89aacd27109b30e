import { formatHex } from '../log/bytes.ts';
import type { Sha256 } from '../log/merkle.ts';
import { segmentHash } from './commitment.ts';
import { firstFields } from './committed-event.ts';
import { type ContextTexts, contextOf, laterMembers, putAt, valueAt } from './context.ts';
import {
  bodyLineOf,
  parseProvenJson,
  type SegmentHex,
  type WithholdableSegment,
} from './event-body.ts';
import { contextFields, type EventField, segmentNames } from './event-fields.ts';
import { segmentTexts } from './event-texts.ts';

type Members = Record<string, unknown>;

/** The changed members of a body line. */
interface BodyJson {
  event: Members;
  salts: SegmentHex;
  hashes?: SegmentHex;
  identityMembers?: readonly string[];
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
  let { context, contextIdentity } = event;
  const json = value as BodyJson; // bodyLineOf has checked the shape
  for (const name of segments) {
    const index = segmentNames.indexOf(name);
    const [salt, text = null] = [salts[index], texts[index]];
    if (!salt || text === null || json.salts[name] === undefined) continue;
    json.hashes = { ...json.hashes, [name]: formatHex(segmentHash(sha, index, salt, text)) };
    delete json.salts[name];
    empty(json.event, name);
    if (name === 'context') context = null;
    if (name === 'identity') contextIdentity = null;
  }
  for (const member of laterMembers(json.event, json.identityMembers ?? [])) {
    const text = member.isPersonal ? contextIdentity : context;
    if (text === null) removeAt(json.event, member);
  }
  showContext(json.event, { context, contextIdentity });
  return JSON.stringify(json);
}

function empty(event: Members, segment: WithholdableSegment): void {
  const own = firstFields.filter((field) => field.segment === segment);
  for (const field of own) putAt(event, field, field.kind === 'diff' ? {} : null);
}

function removeAt(event: Members, { owner, name }: Pick<EventField, 'owner' | 'name'>): void {
  delete (owner === null ? event : (event[owner] as Members))[name];
}

/** Shows what these texts have of the fields of version 2, and nothing else of them. */
function showContext(event: Members, texts: ContextTexts): void {
  const left = contextOf(texts);
  for (const field of contextFields) {
    const members = field.owner === null ? event : (event[field.owner] as Members);
    const value = valueAt(left, field);
    if (value === undefined) removeAt(event, field);
    else members[field.name] = value;
  }
}
