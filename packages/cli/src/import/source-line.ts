import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import {
  canonicalize,
  type ErrorCode,
  eventBytesMax,
  eventIdFromUuid,
  type FieldProblem,
  importedEventUuid,
  inKib,
  isObject,
  type JsonValue,
  jsonProblems,
  orderOfSourceId,
  parseStrictJson,
  parseTimestamp,
  problemsText,
  tenantUuid,
} from '@indelible/protocol';
import type { LineMap } from './line-map.ts';
import { LineOrders } from './line-orders.ts';
import type { Line } from './line-splitter.ts';
import { type EpochForm, notATime, timeOf } from './line-times.ts';

/** An event between a line of the source and the service. */
export interface SourceEvent {
  line: Line;
  /** The tenant's UUID; what the line says if that names no tenant. */
  tenantId: string;
  /** The tenant as the line names it: a UUID, or the host's own id. */
  tenantName: string;
  /** Whether the line names another tenant, from which `--tenant` moves it. */
  isMoved: boolean;
  /** JSON with an id. */
  text: string;
  /** Detects one source id with two contents; null without `sourceId`. */
  source: SourceFacts | null;
  /** Whether numbers became texts, because a double would change them. */
  hasNumbersAsText: boolean;
}

interface SourceFacts {
  id: string;
  /** Hash of tenant and source id; 64 bits that are not in the event's id. */
  key: Uint8Array;
  /** Hash of everything else in the line; 64 bits. */
  content: Uint8Array;
}

/** Why a line cannot be stored. */
export interface LineRefusal {
  code: ErrorCode;
  reason: string;
  errors?: FieldProblem[];
}

type TakenLine = { event: SourceEvent } | { refusal: LineRefusal };

type Members = Record<string, JsonValue>;

const sha256 = (data: string): Uint8Array => hash('sha256', data, 'buffer');

/** How lines become events. */
export interface LineRules {
  /** The tenant of every line; null: each names its own. */
  tenantForAll?: string | null;
  /** What numbers in `timestamp` count; null: they are refused. */
  epochForm?: EpochForm | null;
  /** Where a line of another product has the fields of an event; null: it is an event. */
  map?: LineMap | null;
}

/**
 * The event of a line, the same at every run. An `id` in the line is used. A `sourceId` gives an id
 * from the line's timestamp, an order, and a hash of tenant and source id. Without both, the hash
 * is of tenant and event, so equal lines are one event. The order is the number at the end of a
 * source id that counts, else the position among the lines of this timestamp: a source id that
 * counts has one id in every file, any other one only behind the same lines. A line of an NDJSON
 * export loses the members that its service added. `tenantForAll` replaces the line's tenant.
 * With `epochForm` its `timestamp` may be such a number.
 */
export function takeLine(
  line: Line,
  { tenantForAll = null, epochForm = null, map = null }: LineRules = {},
  orders = new LineOrders(),
): TakenLine {
  const parsed = parseLine(line, map);
  if ('refusal' in parsed) return parsed;
  const { sourceId = null, ...members } = withoutOutput(parsed.members);
  const event: Members = tenantForAll === null ? members : { ...members, tenantId: tenantForAll };
  const { timestamp } = event;
  if (epochForm !== null && timestamp !== undefined) event.timestamp = timeOf(timestamp, epochForm);
  const problems = problemsOf(event, sourceId);
  if (problems.length > 0) return refuse(problems);
  const tenantName = String(event.tenantId);
  const tenantId = uuidOf(tenantName);
  const text = textOf(event);
  const name = sourceId === null ? text : String(sourceId);
  const digest = sha256(`${tenantId}\n${name}`);
  const facts = { key: digest.subarray(8, 16), content: sha256(text).subarray(0, 8) };
  const source = sourceId === null ? null : { id: name, ...facts };
  const isMoved = members.tenantId !== undefined && uuidOf(members.tenantId) !== tenantId;
  const { hasNumbersAsText } = parsed;
  const taken = { line, tenantId, tenantName, source, isMoved, hasNumbersAsText };
  if (event.id !== undefined) return { event: { ...taken, text } };
  const timeMs = parseTimestamp(String(event.timestamp)) ?? 0;
  const order =
    source !== null && counts(source.id)
      ? orderOfSourceId(source.id)
      : orders.of(tenantId, timeMs, digest);
  const id = eventIdFromUuid(importedEventUuid(timeMs, order, digest));
  return { event: { ...taken, text: `{"id":"${id}",${text.slice(1)}` } };
}

/**
 * Equal events give equal texts. One with values that no log can hold goes to the service as it is:
 * the service writes or drops them with a warning, or refuses the event.
 */
function textOf(event: Members): string {
  return jsonProblems(event).length === 0 ? canonicalize(event) : JSON.stringify(event);
}

const uuidOf = (tenant: JsonValue) => tenantUuid(String(tenant)) ?? String(tenant).toLowerCase();

const uuidAtEnd = /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
// Longer numbers are times or of several parts: their last digits do not count events.
const counterAtEnd = /^(?:|[A-Za-z]+|.*[^0-9A-Za-z.])\d{1,12}$/s;

/** Whether a source id ends in a number that counts events: `7`, `INC0000045#2`, not a UUID. */
function counts(sourceId: string): boolean {
  return counterAtEnd.test(sourceId) && !uuidAtEnd.test(sourceId);
}

// Members that a service adds to a stored event; the importing service adds its own.
const outputMembers = ['category', 'hasState', 'sequence', 'receivedAt', 'recordedBy'];

/** Only if all of them are present: a single `sequence` is an error and is refused. */
function withoutOutput(members: Members): Members {
  if (!outputMembers.every((name) => Object.hasOwn(members, name))) return members;
  return Object.fromEntries(
    Object.entries(members).filter(([name]) => !outputMembers.includes(name) && name !== 'erased'),
  ) as Members;
}

type ParsedLine = { members: Members; hasNumbersAsText: boolean } | { refusal: LineRefusal };

function parseLine(line: Line, map: LineMap | null): ParsedLine {
  const refusal = (code: ErrorCode, reason: string) => ({ refusal: { code, reason } });
  if (line.tooLong)
    return refusal('payload_too_large', `the line is longer than ${inKib(eventBytesMax)}`);
  if (!isUtf8(line.bytes)) return refusal('malformed_json', 'the line is not valid UTF-8');
  try {
    const { value, duplicateKeys, numbersAsText } = parseStrictJson(line.bytes.toString());
    if (!isObject(value)) return refusal('validation_failed', 'the line is not a JSON object');
    if (duplicateKeys.length > 0) return refuse(repetitions(duplicateKeys));
    const members = map === null ? (value as Members) : map.eventOf(value as Members);
    const hasNumbersAsText = numbersAsText.some((pointer) => map === null || map.reads(pointer));
    return { members, hasNumbersAsText };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return refusal('malformed_json', `the line is not valid JSON: ${error.message}`);
  }
}

function repetitions(paths: readonly string[]): FieldProblem[] {
  return paths.map((path) => ({ path, code: 'duplicate_key', message: 'appears twice' }));
}

function refuse(errors: FieldProblem[]): { refusal: LineRefusal } {
  return { refusal: { code: 'validation_failed', reason: problemsText(errors), errors } };
}

/** Problems that would change the line's id between runs; the service checks the rest. */
function problemsOf(event: Members, sourceId: JsonValue): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const add = (path: string, code: string, message: string) =>
    problems.push({ path, code, message });
  const isName = typeof sourceId === 'string' && sourceId !== '';
  if (sourceId !== null && !isName && !Number.isSafeInteger(sourceId)) {
    add('/sourceId', 'wrong_type', 'must be a non-empty text or a whole number');
  }
  if (event.tenantId === undefined) {
    add('/tenantId', 'required', 'is required: in the line, or for all lines with --tenant');
  }
  if (event.id !== undefined) return problems;
  const { timestamp } = event;
  if (timestamp === undefined) {
    add('/timestamp', 'required', 'is required, so that the event gets the same id in every run');
  } else if (typeof timestamp !== 'string' || parseTimestamp(timestamp) === null) {
    add('/timestamp', 'invalid_format', notATime(timestamp));
  }
  return problems;
}
