import { parseStrictJson } from '../json/strict-json.ts';
import { FormatError, parseHex } from '../log/bytes.ts';
import type { EntryVersion } from '../log/entry.ts';
import { hashBytes, type Sha256 } from '../log/merkle.ts';
import { commitmentOfSegments, saltBytes } from './commitment.ts';
import { committedEventOf, type ShownEvent } from './committed-event.ts';
import { emptiedSegment, type SegmentName, segmentNames } from './event-fields.ts';
import { segmentTexts } from './event-texts.ts';

/**
 * An event with the values that open its commitment. Both lists are in the order of `segmentNames`:
 * each segment has its salt, or its hash if it is withheld or erased. `context` has neither in
 * version 1, `state` in an event without a state.
 */
export interface EventBody {
  event: ShownEvent;
  salts: readonly (Uint8Array | null)[];
  hashes: readonly (Uint8Array | null)[];
}

/** The segments that may be replaced by their hash. `event` may not: it identifies the event. */
export const withholdableSegments = ['change', 'context', 'identity', 'state'] as const;
export type WithholdableSegment = (typeof withholdableSegments)[number];

/** Salts or hashes in hexadecimal by segment name, as in JSON. */
export type SegmentHex = { [Name in SegmentName]?: string };

/** Reads JSON text that will be proven. FormatError for invalid JSON and repeated member names. */
export function parseProvenJson(source: string | Uint8Array): unknown {
  const { value, duplicateKeys } = readStrictJson(source);
  const [repeated] = duplicateKeys;
  if (repeated !== undefined) throw new FormatError(`the member ${quoted(repeated)} appears twice`);
  return value;
}

// Omits the engine's message, because it quotes the text.
function readStrictJson(source: string | Uint8Array) {
  try {
    return parseStrictJson(source);
  } catch {
    throw new FormatError('it is not valid JSON in UTF-8');
  }
}

/** Escapes and shortens an untrusted name for a message. */
export function quoted(name: string): string {
  return JSON.stringify(name.length > 40 ? `${name.slice(0, 40)}…` : name);
}

/** The members of a body line, or those of a proof that open its commitment. */
interface BodyMembers {
  event: unknown;
  salts: unknown;
  hashes?: unknown;
  /** Which members unknown to a reader belong to the identity, such as `actor.nickname`. */
  identityMembers?: unknown;
}

const bodyMembers = ['event', 'salts', 'hashes', 'identityMembers'];

function namesOf(value: unknown = []): readonly string[] {
  if (Array.isArray(value) && value.every((name) => typeof name === 'string')) return value;
  throw new FormatError('identityMembers is not a list of names');
}

/**
 * Reads `{event, salts, hashes?, identityMembers?}`: the JSON value of a body line, or that part of
 * a proof. Throws FormatError for other members or types. A segment given by its hash must be empty
 * (null, `{}`), because the hash would not prove its value.
 */
export function eventBodyOf(json: BodyMembers): EventBody {
  const event = committedEventOf(json.event, namesOf(json.identityMembers));
  const salts = segmentBytes(json.salts, saltBytes, 'salts');
  const hashes =
    json.hashes === undefined ? noHashes : segmentBytes(json.hashes, hashBytes, 'hashes');
  for (const [index, name] of segmentNames.entries()) {
    const [salt, hash] = [salts[index], hashes[index]];
    if (salt && hash) throw new FormatError(`${name} has both a salt and a hash`);
    if (hash && !isEmpty(event, name)) throw new FormatError(`${name} is both withheld and shown`);
    const isAbsent = name === 'context' ? event.context === null : isEmpty(event, name);
    if (salt || hash || (isOptional(name) && isAbsent)) continue;
    throw new FormatError(`${name} has no salt`);
  }
  if (salts[stateIndex] && isEmpty(event, 'state')) {
    throw new FormatError('it has a salt for a state, but no state');
  }
  // The event is of version 2, although all that version 2 has added is erased or personal.
  if (salts[contextIndex]) event.context ??= '{}';
  return { event, salts, hashes };
}

const isOptional = (name: SegmentName) => name === 'context' || name === 'state';
const stateIndex = segmentNames.indexOf('state');
const contextIndex = segmentNames.indexOf('context');
/** The hashes of an event that is shown completely. */
export const noHashes: readonly null[] = segmentNames.map(() => null);

/** The version of the log entry that holds the event. */
export function versionOf({ salts, hashes }: Omit<EventBody, 'event'>): EntryVersion {
  return salts[contextIndex] || hashes[contextIndex] ? 2 : 1;
}

const emptied = Object.fromEntries(
  segmentNames.map((name) => [name, Object.entries(emptiedSegment(name))]),
);

function isEmpty(event: ShownEvent, segment: SegmentName): boolean {
  if (segment === 'event') return false; // and therefore it is never withheld
  if (segment === 'context') return event.context === null || event.context === '{}';
  const values = event as unknown as Record<string, unknown>;
  return (emptied[segment] ?? []).every(([key, value]) => values[key] === value);
}

function segmentBytes(value: unknown, length: number, where: string): (Uint8Array | null)[] {
  if (typeof value !== 'object' || value === null)
    throw new FormatError(`${where} is not an object`);
  const bytes: (Uint8Array | null)[] = [...noHashes];
  let found = 0;
  for (let index = 0; index < segmentNames.length; index += 1) {
    const hex = (value as Record<string, unknown>)[segmentNames[index] ?? ''];
    if (hex === undefined) continue;
    const parsed = typeof hex === 'string' ? parseHex(hex) : null;
    if (parsed?.length !== length) {
      throw new FormatError(
        `${where}.${segmentNames[index]} is not ${length} bytes of hexadecimal`,
      );
    }
    bytes[index] = parsed;
    found += 1;
  }
  if (Object.keys(value).length > found) throw new FormatError(`${where} has an unknown segment`);
  return bytes;
}

/** Whether the event was recorded with a state, shown or withheld. */
export function hasStateSegment({ salts, hashes }: EventBody): boolean {
  return Boolean(salts[stateIndex] ?? hashes[stateIndex]);
}

/** Whether the body does not show the people that the actor acts for, if there are any. */
export const withholdsContext = ({ hashes }: EventBody) => Boolean(hashes[contextIndex]);

/** The segments that the body withholds. */
export function withheldSegments({ hashes }: EventBody): WithholdableSegment[] {
  if (hashes === noHashes) return [];
  return withholdableSegments.filter((name) => hashes[segmentNames.indexOf(name)] !== null);
}

/** The commitment that the log entry must hold if this body is the recorded one. */
export function commitmentOfBody(sha: Sha256, body: EventBody): Uint8Array {
  const { event, salts, hashes } = body;
  const texts = segmentTexts(event, event.id, event.timestamp);
  return commitmentOfSegments(sha, texts, salts, hashes);
}

/**
 * Reads a body line: `{"event":…,"salts":{…},"hashes":{…},"identityMembers":[…]}`. Throws
 * FormatError and nothing else.
 */
export function parseBodyLine(source: string | Uint8Array): EventBody {
  return bodyLineOf(parseProvenJson(source));
}

/** Reads a body line like `parseBodyLine`, from the JSON value. */
export function bodyLineOf(value: unknown): EventBody {
  if (typeof value !== 'object' || value === null) throw new FormatError('a body is an object');
  if (Object.keys(value).some((name) => !bodyMembers.includes(name))) {
    throw new FormatError('a body has unknown members');
  }
  return eventBodyOf(value as BodyMembers);
}
