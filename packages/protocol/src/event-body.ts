import { parseHex } from './bytes.ts';
import {
  commitmentOfHashes,
  type SegmentName,
  saltBytes,
  segmentHash,
  segmentNames,
  segmentTexts,
} from './commitment.ts';
import { committedEventOf, type ShownEvent } from './committed-event.ts';
import { FormatError } from './format-error.ts';
import { hashBytes, type Sha256 } from './merkle.ts';
import { parseStrictJson } from './strict-json.ts';

/**
 * An event with what opens its commitment. Both lists are in the order of `segmentNames`: of each
 * segment either the salt, or the hash alone where the segment is withheld or erased; neither for
 * the state of an event without one.
 */
export interface EventBody {
  event: ShownEvent;
  salts: readonly (Uint8Array | null)[];
  hashes: readonly (Uint8Array | null)[];
}

/** The segments that may be given as a hash alone; without `event` there is nothing to speak of. */
export const withholdableSegments = ['change', 'identity', 'state'] as const;
export type WithholdableSegment = (typeof withholdableSegments)[number];

/** Salts, or hashes, in hexadecimal by the name of their segment, as JSON carries them. */
export type SegmentHex = { [Name in SegmentName]?: string };

/** Reads JSON text that will be proven; FormatError for what is no JSON or repeats a member name. */
export function parseProvenJson(source: string | Uint8Array): unknown {
  const { value, duplicateKeys } = readStrictJson(source);
  if (duplicateKeys.length > 0) throw new FormatError(`${duplicateKeys[0]} is there twice`);
  return value;
}

function readStrictJson(source: string | Uint8Array) {
  try {
    return parseStrictJson(source);
  } catch (error) {
    throw new FormatError(`it is not JSON (${error instanceof Error ? error.message : 'unknown'})`);
  }
}

/**
 * Takes apart `{event, salts, hashes?}`: a body line's JSON value, or that part of a proof. Throws
 * FormatError for any other member or type. A segment of which nothing is shown must be empty (null,
 * `{}`), for what stood there would be proven by nothing.
 */
export function eventBodyOf(json: { event: unknown; salts: unknown; hashes?: unknown }): EventBody {
  const event = committedEventOf(json.event);
  const salts = segmentBytes(json.salts, saltBytes, segmentNames, 'salts');
  const hashes = segmentBytes(
    json.hashes === undefined ? {} : json.hashes,
    hashBytes,
    withholdableSegments,
    'hashes',
  );
  const isEmpty = [
    event.diff === '{}' && event.reason === null,
    false,
    event.actorEmail === null &&
      event.actorIp === null &&
      event.actorUserAgent === null &&
      event.resourceName === null,
    event.before === null && event.after === null,
  ];
  for (const [index, name] of segmentNames.entries()) {
    const [hasSalt, hasHash] = [salts[index] !== null, hashes[index] !== null];
    if (hasSalt && hasHash) throw new FormatError(`${name} has both a salt and a hash`);
    if (hasHash && !isEmpty[index]) throw new FormatError(`${name} is withheld and yet shown`);
    // Only the state is absent from the commitment when it is empty.
    const isNeeded = name !== 'state' || !isEmpty[index];
    if (isNeeded && !hasSalt && !hasHash) throw new FormatError(`${name} has no salt`);
    if (!isNeeded && hasSalt) throw new FormatError(`${name} has a salt, but is not there`);
  }
  return { event, salts, hashes };
}

function segmentBytes(
  value: unknown,
  length: number,
  names: readonly SegmentName[],
  where: string,
): (Uint8Array | null)[] {
  const bytes: (Uint8Array | null)[] = [null, null, null, null];
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new FormatError(`${where} is no object`);
  }
  for (const [name, hex] of Object.entries(value)) {
    if (!(names as readonly string[]).includes(name)) {
      throw new FormatError(`${where} has the unknown segment ${name}`);
    }
    const parsed = typeof hex === 'string' ? parseHex(hex) : null;
    if (parsed?.length !== length) {
      throw new FormatError(`${where} of ${name} is not ${length} bytes of hexadecimal`);
    }
    bytes[segmentNames.indexOf(name as SegmentName)] = parsed;
  }
  return bytes;
}

/** Whether the event was recorded with a state, shown or not. */
export function hasStateSegment({ salts, hashes }: EventBody): boolean {
  return salts[3] !== null || hashes[3] !== null;
}

/** The segments that the body keeps back. */
export function withheldSegments({ hashes }: EventBody): WithholdableSegment[] {
  return withholdableSegments.filter((name) => hashes[segmentNames.indexOf(name)] !== null);
}

/** The commitment that the log's entry must hold for this body to be what was recorded. */
export function commitmentOfBody(sha: Sha256, { event, salts, hashes }: EventBody): Uint8Array {
  const texts = segmentTexts(event);
  const segments: Uint8Array[] = [];
  for (let index = 0; index < segmentNames.length; index += 1) {
    const salt = salts[index];
    const text = texts[index];
    const hash = salt && text !== undefined ? segmentHash(sha, index, salt, text) : hashes[index];
    if (hash) segments.push(hash);
  }
  return commitmentOfHashes(sha, segments);
}

/** Reads a body line: `{"event":…,"salts":{…},"hashes":{…}}`. Throws FormatError and nothing else. */
export function parseBodyLine(source: string | Uint8Array): EventBody {
  return bodyLineOf(parseProvenJson(source));
}

/** As `parseBodyLine`, of the JSON value. */
export function bodyLineOf(value: unknown): EventBody {
  if (typeof value !== 'object' || value === null) throw new FormatError('a body is an object');
  const { event, salts, hashes, ...others } = value as Record<string, unknown>;
  const [other] = Object.keys(others);
  if (other !== undefined) throw new FormatError(`a body has no member ${other}`);
  return eventBodyOf({ event, salts, hashes });
}
