import { endOfCanonicalObject } from '../json/canonical-text.ts';
import { parseHex } from '../log/bytes.ts';
import { isSequence, lowerUuidPattern, type ShownEvent, shownUuidOf } from './committed-event.ts';
import type { EventBody } from './event-body.ts';

// Without quote, backslash and control characters: what stands between the quotes is the value.
const text = String.raw`"([ !#-[\]-\uffff]*)"`;
const textOrNull = `(?:${text}|null)`;
const uuid = `"(${lowerUuidPattern})"`;
const truth = '(true|false)';
const salt = '"([0-9a-f]{32})"';

const untilDiff = new RegExp(
  String.raw`\{"event":\{"id":${text},"timestamp":${text},"tenantId":${uuid},"actor":\{` +
    `"id":${uuid},"email":${textOrNull},"role":${text},"ip":${textOrNull},` +
    String.raw`"userAgent":${textOrNull}\},"action":${text},"resource":\{"type":${text},` +
    String.raw`"id":${uuid},"name":${textOrNull}\},"diff":`,
  'y',
);
const untilBefore = new RegExp(`,"crossTenant":${truth},"reason":${textOrNull},"before":`, 'y');
const untilAfter = /,"after":/y;
const untilEnd = new RegExp(
  String.raw`,"category":${text},"hasState":${truth},"sequence":(0|[1-9]\d*),"receivedAt":${text},` +
    String.raw`"recordedBy":\{"kind":${text},"id":${uuid}\}\},"salts":\{"change":${salt},` +
    String.raw`"event":${salt},"identity":${salt}(?:,"state":${salt})?\}\}$`,
  'y',
);

/**
 * Reads a body line that is, to the byte, as the service writes it; null for any other, good or
 * bad: those are for `parseProvenJson` and `bodyLineOf`, which give the same body, only slower. One
 * order of members without spaces leaves no room for a member that is there twice.
 */
export function readPlainBody(line: string): EventBody | null {
  const parts = partsOf(line);
  if (parts === null) return null;
  const { before, after, last } = parts;
  const [, , , , , , , change = '', event = '', identity = '', state] = last;
  const shown = eventOf(parts);
  const hasState = before !== null || after !== null;
  if (shown === null || hasState !== (state !== undefined)) return null;
  const salts = [
    parseHex(change),
    parseHex(event),
    parseHex(identity),
    state ? parseHex(state) : null,
  ];
  return { event: shown, salts, hashes: noHashes };
}

const noHashes = [null, null, null, null];

// The service takes no longer ones, and millions of escapes overflow a regular expression's stack.
const plainCharactersMax = 1 << 20;

interface Parts {
  first: RegExpExecArray;
  diff: string;
  second: RegExpExecArray;
  before: string | null;
  after: string | null;
  last: RegExpExecArray;
}

function partsOf(line: string): Parts | null {
  if (line.length > plainCharactersMax || !line.isWellFormed()) return null;
  const first = execAt(untilDiff, line, 0);
  const diffEnd = first === null ? -1 : endOfCanonicalObject(line, untilDiff.lastIndex);
  const second = diffEnd === -1 ? null : execAt(untilBefore, line, diffEnd);
  if (first === null || second === null) return null;
  const diff = line.slice(untilDiff.lastIndex, diffEnd);
  const beforeEnd = endOfState(line, untilBefore.lastIndex);
  if (beforeEnd === -1 || execAt(untilAfter, line, beforeEnd) === null) return null;
  const afterEnd = endOfState(line, untilAfter.lastIndex);
  const last = afterEnd === -1 ? null : execAt(untilEnd, line, afterEnd);
  if (last === null) return null;
  const before = stateOf(line, untilBefore.lastIndex, beforeEnd);
  const after = stateOf(line, untilAfter.lastIndex, afterEnd);
  return { first, diff, second, before, after, last };
}

function execAt(expression: RegExp, line: string, at: number): RegExpExecArray | null {
  expression.lastIndex = at;
  return expression.exec(line);
}

function endOfState(line: string, at: number): number {
  return line.startsWith('null', at) ? at + 4 : endOfCanonicalObject(line, at);
}

function stateOf(line: string, at: number, end: number): string | null {
  return line.startsWith('null', at) ? null : line.slice(at, end);
}

function eventOf({ first, diff, second, before, after, last }: Parts): ShownEvent | null {
  const [, id = '', timestamp = '', tenantId = '', actorId = '', actorEmail = null] = first;
  const [actorRole = '', actorIp = null, actorUserAgent = null] = first.slice(6);
  const [action = '', resourceType = '', resourceId = '', resourceName = null] = first.slice(9);
  const [, crossTenant, reason = null] = second;
  const [, category = '', hasState, digits = '', receivedAt = ''] = last;
  const [recordedByKind = '', recordedById = ''] = last.slice(5);
  const uuid = shownUuidOf(id);
  const sequence = Number(digits);
  // Not compared with String(sequence): the engine keeps those, and every one outlives its event.
  if (uuid === null || !isSequence(sequence)) return null;
  return {
    id,
    uuid,
    timestamp,
    tenantId,
    actorId,
    actorEmail,
    actorRole,
    actorIp,
    actorUserAgent,
    action,
    resourceType,
    resourceId,
    resourceName,
    diff,
    crossTenant: crossTenant === 'true',
    reason,
    category,
    recordedByKind,
    recordedById,
    before,
    after,
    sequence,
    receivedAt,
    hasState: hasState === 'true',
  };
}
