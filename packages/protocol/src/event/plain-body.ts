import { endOfCanonicalArray, endOfCanonicalObject } from '../json/canonical-text.ts';
import { isCount, parseStrictJson } from '../json/strict-json.ts';
import { FormatError, parseHex } from '../log/bytes.ts';
import { saltBytes } from './commitment.ts';
import {
  firstFields,
  lowerUuidPattern,
  type ShownEvent,
  shownContext,
  shownKey,
  shownUuidOf,
} from './committed-event.ts';
import { putAt } from './context.ts';
import { type EventBody, noHashes } from './event-body.ts';
import { type EventField, eventFields, segmentNames } from './event-fields.ts';

/**
 * Reads a body line whose bytes are exactly as the service writes them; null for any other line.
 * `parseProvenJson` and `bodyLineOf` read those, with the same result but slower. The fixed order
 * of members without spaces excludes repeated members.
 */
export function readPlainBody(line: string): EventBody | null {
  if (line.length > plainCharactersMax || !line.isWellFormed()) return null;
  const shown = { ...blank };
  const later: Members = {};
  let at = 0;
  for (const run of runs) {
    at = readRun(run, line, at, shown, later);
    if (at === -1) return null;
  }
  const salts = readSalts(line, at);
  shown.id = shown.uuid;
  const uuid = shownUuidOf(shown.id);
  const hasState = shown.before !== null || shown.after !== null;
  // The sequence is not compared with its digits, because engines keep the text of every number.
  if (salts === null || uuid === null || !isCount(shown.sequence)) return null;
  if (hasState !== (salts[stateIndex] !== null)) return null;
  shown.uuid = uuid;
  if (!readContext(shown, later, salts[contextIndex] !== null)) return null;
  return { event: shown, salts, hashes: noHashes, isPlain: true };
}

type Members = Record<string, unknown>;

const stateIndex = segmentNames.indexOf('state');
const contextIndex = segmentNames.indexOf('context');

/** False if the full reader must read the line, and perhaps refuse it. */
function readContext(shown: Shown, later: Members, hasContext: boolean): boolean {
  let isEmpty = true;
  for (const _ in later) isEmpty = false;
  if (isEmpty) {
    if (hasContext) shown.context = '{}';
    return true;
  }
  if (!hasContext) return false;
  try {
    Object.assign(shown, shownContext(later));
    return true;
  } catch (error) {
    if (error instanceof FormatError) return false;
    throw error;
  }
}

// The service accepts no longer strings; millions of escapes overflow a RegExp's stack.
const plainCharactersMax = 1 << 20;

/** Consecutive members with scalar values, and the object or list that follows them, if any. */
interface Run {
  expression: RegExp;
  fields: readonly RunField[];
  compound?: EventField;
  /** The start of a run that may be missing. */
  mayStart?: string;
}

/** All of one shape: reading a property of `EventField` takes several times longer. */
interface RunField {
  key: string;
  kind: EventField['kind'];
  /** The field, if it is of version 2. */
  later: EventField | null;
}

/** The end of the run that begins at `at`, or -1. Puts its values into `shown` and `later`. */
function readRun(run: Run, line: string, at: number, shown: Members, later: Members): number {
  const { expression, fields, compound, mayStart } = run;
  if (mayStart !== undefined && !line.startsWith(mayStart, at)) return at;
  expression.lastIndex = at;
  const found = expression.exec(line);
  if (found === null) return -1;
  for (let index = 0; index < fields.length; index += 1) {
    const field = fields[index];
    if (!field) continue;
    const text = found[index + 1];
    if (field.later === null) shown[field.key] = readValue(field.kind, text);
    else if (text !== undefined) putAt(later, field.later, text);
  }
  const start = expression.lastIndex;
  return compound === undefined ? start : readCompound(compound, line, start, shown, later);
}

function readCompound(
  field: EventField,
  line: string,
  start: number,
  shown: Members,
  later: Members,
): number {
  if (field.nullable === true && line.startsWith('null', start)) {
    shown[shownKey(field)] = null;
    return start + 4;
  }
  const end = (field.kind === 'list' ? endOfCanonicalArray : endOfCanonicalObject)(line, start);
  const text = line.slice(start, end);
  if (field.since !== 2) shown[shownKey(field)] = text;
  else if (end !== -1) putAt(later, field, parseStrictJson(text).value);
  return end;
}

function readValue(kind: EventField['kind'], found: string | undefined): unknown {
  if (kind === 'boolean') return found === 'true';
  return kind === 'sequence' ? Number(found) : (found ?? null);
}

const compounds: ReadonlySet<string> = new Set(['diff', 'state', 'object', 'list', 'metadata']);

/** The runs of `{"event":{…}`, by the field table. A field of version 2 may be missing. */
function runsOf(fields: readonly EventField[]): Run[] {
  const runs: Run[] = [];
  let source = String.raw`\{"event":`;
  let run: RunField[] = [];
  const end = (compound?: EventField) => {
    const expression = new RegExp(source, 'y');
    const mayStart = compound?.since === 2 ? { mayStart: source } : {};
    runs.push({ expression, fields: run, ...(compound && { compound }), ...mayStart });
    [source, run] = ['', []];
  };
  let [opening, owned] = [String.raw`\{`, null as string | null];
  for (const field of fields) {
    const { owner, name, kind, nullable = false, since } = field;
    if (owner !== owned) {
      if (owned !== null) source += String.raw`\}`;
      if (owner !== null) source += `${opening}"${owner}":`;
      opening = owner === null ? ',' : String.raw`\{`;
      owned = owner;
    }
    const isCompound = compounds.has(kind);
    // A member that may be missing is a run of its own.
    if (isCompound && since === 2 && source !== '') end();
    const start = `${opening}"${name}":`;
    opening = ',';
    if (isCompound) {
      source += start;
      end(field);
      continue;
    }
    const pattern = nullable ? `(?:${patternOf(kind)}|null)` : patternOf(kind);
    source += since === 2 ? `(?:${start}${pattern})?` : start + pattern;
    run.push({ key: shownKey(field), kind, later: since === 2 ? field : null });
  }
  source += owned === null ? String.raw`\}` : String.raw`\}\}`;
  end();
  return runs;
}

function patternOf(kind: EventField['kind']): string {
  if (kind === 'uuid') return `"(${lowerUuidPattern})"`;
  if (kind === 'boolean') return '(true|false)';
  if (kind === 'sequence') return String.raw`(0|[1-9]\d*)`;
  // No quote, backslash or control character: the text between the quotes is the value.
  return String.raw`"([ !#-[\]-\uffff]*)"`;
}

const runs = runsOf(eventFields);

type Shown = Record<string, unknown> & ShownEvent;

// Copied, because adding members to an object one by one takes a quarter longer.
const blank = Object.fromEntries(
  ['id', ...firstFields.map(shownKey), 'context', 'contextIdentity'].map((key) => [key, null]),
) as Record<string, unknown> as Shown;

/** What comes before each salt. An event may lack those of `context` and `state`. */
const saltStarts = segmentNames.map((name) => ({
  text: `${name === 'change' ? ',"salts":{' : '",'}"${name}":"`,
  mayLack: name === 'context' || name === 'state',
}));

function readSalts(line: string, start: number): (Uint8Array | null)[] | null {
  const salts: (Uint8Array | null)[] = [];
  let at = start;
  for (const { text, mayLack } of saltStarts) {
    const isThere = line.startsWith(text, at);
    if (!isThere && !mayLack) return null;
    if (isThere) at += text.length + 2 * saltBytes;
    const salt = isThere ? parseHex(line.slice(at - 2 * saltBytes, at)) : null;
    if (isThere && salt?.length !== saltBytes) return null;
    salts.push(salt);
  }
  return line.slice(at) === '"}}' ? salts : null;
}
