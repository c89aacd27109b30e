import { endOfCanonicalObject } from '../json/canonical-text.ts';
import { parseHex } from '../log/bytes.ts';
import {
  isSequence,
  lowerUuidPattern,
  type ShownEvent,
  shownKey,
  shownUuidOf,
} from './committed-event.ts';
import type { EventBody } from './event-body.ts';
import { type EventField, eventFields } from './event-fields.ts';

/**
 * Reads a body line whose bytes are exactly as the service writes them; null for any other line.
 * `parseProvenJson` and `bodyLineOf` read those, with the same result but slower. The fixed order
 * of members without spaces excludes repeated members.
 */
export function readPlainBody(line: string): EventBody | null {
  if (line.length > plainCharactersMax || !line.isWellFormed()) return null;
  const shown = { ...blank };
  let at = 0;
  for (const run of runs) {
    at = readRun(run, line, at, shown);
    if (at === -1) return null;
  }
  const salts = readSalts(line, at);
  shown.id = shown.uuid;
  const uuid = shownUuidOf(shown.id);
  const hasState = shown.before !== null || shown.after !== null;
  // The sequence is not compared with its digits, because engines keep the text of every number.
  if (uuid === null || !isSequence(shown.sequence) || hasState !== Boolean(salts?.[3])) return null;
  shown.uuid = uuid;
  return salts && { event: shown, salts, hashes: noHashes };
}

const noHashes = [null, null, null, null];

// The service accepts no longer strings; millions of escapes overflow a RegExp's stack.
const plainCharactersMax = 1 << 20;

/** Consecutive members with scalar values, and the object that follows them, if any. */
interface Run {
  expression: RegExp;
  fields: { key: string; kind: EventField['kind'] }[];
  object?: { key: string; nullable: boolean };
}

/** The end of the run that begins at `at`, or -1. Puts its values into `shown`. */
function readRun(run: Run, line: string, at: number, shown: Record<string, unknown>): number {
  const { expression, fields, object } = run;
  expression.lastIndex = at;
  const found = expression.exec(line);
  if (found === null) return -1;
  for (let index = 0; index < fields.length; index += 1) {
    const field = fields[index];
    if (field) shown[field.key] = readValue(field.kind, found[index + 1]);
  }
  if (object === undefined) return expression.lastIndex;
  const start = expression.lastIndex;
  const isNull = object.nullable && line.startsWith('null', start);
  const end = isNull ? start + 4 : endOfCanonicalObject(line, start);
  shown[object.key] = isNull ? null : line.slice(start, end);
  return end;
}

function readValue(kind: EventField['kind'], found: string | undefined): unknown {
  if (kind === 'boolean') return found === 'true';
  return kind === 'sequence' ? Number(found) : (found ?? null);
}

/** The runs of `{"event":{…}`, by the field table. */
function runsOf(fields: readonly EventField[]): Run[] {
  const runs: Run[] = [];
  let source = String.raw`\{"event":`;
  let run: Run['fields'] = [];
  let [opening, owned] = [String.raw`\{`, null as string | null];
  for (const field of fields) {
    const { owner, name, kind, nullable = false } = field;
    if (owner !== owned) {
      if (owned !== null) source += String.raw`\}`;
      if (owner !== null) source += `${opening}"${owner}":`;
      opening = owner === null ? ',' : String.raw`\{`;
      owned = owner;
    }
    source += `${opening}"${name}":`;
    opening = ',';
    if (kind === 'diff' || kind === 'state') {
      const object = { key: shownKey(field), nullable };
      runs.push({ expression: new RegExp(source, 'y'), fields: run, object });
      [source, run] = ['', []];
    } else {
      source += nullable ? `(?:${patternOf(kind)}|null)` : patternOf(kind);
      run.push({ key: shownKey(field), kind });
    }
  }
  const end = owned === null ? String.raw`\}` : String.raw`\}\}`;
  return [...runs, { expression: new RegExp(source + end, 'y'), fields: run }];
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
  ['id', ...eventFields.map(shownKey)].map((key) => [key, null]),
) as Record<string, unknown> as Shown;

const salt = '"([0-9a-f]{32})"';
const saltsAtEnd = new RegExp(
  `,"salts":\\{"change":${salt},"event":${salt},"identity":${salt}(?:,"state":${salt})?\\}\\}$`,
  'y',
);

function readSalts(line: string, at: number): (Uint8Array | null)[] | null {
  saltsAtEnd.lastIndex = at;
  const found = saltsAtEnd.exec(line);
  return found?.slice(1).map((hex) => (hex === undefined ? null : parseHex(hex))) ?? null;
}
