import { checkJson } from '../json/canonical.ts';
import { type EventField, eventFields } from './event-fields.ts';
import { isUuid, uuidFromEventId } from './event-id.ts';
import { type FieldProblem, fieldProblemsMax, pointerOf } from './field-problem.ts';
import { hidesCharacters, isRecordedEmail, snakeCaseExpression } from './field-rules.ts';
import { canonicalIp } from './ip-address.ts';
import { diffFieldsMax, diffTextBytesMax, inKib, membersMax, stateBytesMax } from './limits.ts';
import { parseTimestamp } from './timestamp.ts';
import { exceedsBytes } from './utf8-size.ts';

/* Checks the shape of an event by the table of fields; the checks are compiled once. */

type Problems = FieldProblem[];
type Check = (value: unknown, problems: Problems) => void;
export type Members = Record<string, unknown>;

export const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * All problems of an event's members, each checked on its own: forbidden JSON values, and the rules
 * of the field table. Values are JSON values; `undefined` means absent.
 */
export function shapeProblems(event: unknown): Problems {
  const problems: Problems = [];
  // An object with too many members is refused without checking them.
  if (isObject(event) && Object.keys(event).length > membersMax) return [tooMany('', membersMax)];
  if (isObject(event)) jsonProblems(event, problems);
  if (problems.length === 0) {
    checkEvent(event, problems);
    return problems;
  }
  const named = new Set(problems.map(({ path }) => path));
  const others: Problems = [];
  checkEvent(event, others);
  return [...problems, ...others.filter(({ path }) => !named.has(path))];
}

/** No object of an event has more, not even a state: a member takes five bytes, as in `"":0,`. */
const anyMembersMax = Math.floor(stateBytesMax / 5);

function jsonProblems(event: Members, problems: Problems): void {
  for (const [field, value] of Object.entries(event)) {
    if (problems.length >= fieldProblemsMax) return;
    if (isObject(value) && Object.keys(value).length > anyMembersMax) {
      problems.push(tooMany(pointerOf(field), anyMembersMax));
      continue;
    }
    // Depth counts from each field, so a state may have 32 levels wherever it is.
    for (const found of [checkJson(field, ''), checkJson(value, '')]) {
      for (const { path, ...rest } of found) {
        problems.push({ path: pointerOf(field) + path, ...rest });
      }
    }
  }
}

const tooMany = (path: string, max: number): FieldProblem => ({
  path,
  code: 'too_many',
  message: `has more than ${max} members`,
});

const wrongType = (path: string, type: string): FieldProblem => ({
  path,
  code: 'invalid_type',
  message: `must be ${type}`,
});

/** The format of each kind of text, with its description for error messages. */
const textKinds: Partial<Record<EventField['kind'], { fits(text: string): boolean; is: string }>> =
  {
    eventId: {
      fits: (text) => uuidFromEventId(text) !== null,
      is: 'a TypeID of a UUIDv7 with the prefix evt_audit',
    },
    uuid: { fits: isUuid, is: 'a UUID' },
    word: { fits: (text) => snakeCaseExpression.test(text), is: 'a snake_case word' },
    // No invisible characters, so that a role cannot imitate another one.
    role: {
      fits: (text) => /^[^\s\p{Cc}]+$/u.test(text) && !hidesCharacters(text),
      is: 'one word of visible characters',
    },
    email: { fits: isRecordedEmail, is: 'an e-mail address of visible characters' },
    ip: { fits: (text) => canonicalIp(text) !== null, is: 'an IP address' },
    time: { fits: (text) => parseTimestamp(text) !== null, is: 'an ISO 8601 time' },
  };

function textCheck({ kind, lengthMax = Infinity, nullable }: EventField, path: string): Check {
  const { fits, is } = textKinds[kind] ?? { fits: () => true, is: 'a text' };
  const lengthMin = kind === 'role' ? 1 : 0;
  const add = (problems: Problems, code: string, message: string) =>
    problems.push({ path, code, message });
  return (value, problems) => {
    if (nullable && (value === null || value === '')) return;
    if (typeof value !== 'string') {
      problems.push(wrongType(path, nullable ? 'a text or null' : 'a text'));
      return;
    }
    if (value.length > lengthMax && [...value].length > lengthMax) {
      add(problems, 'too_long', `is longer than ${lengthMax} characters`);
    }
    if (value.length < lengthMin) {
      add(problems, 'too_short', `is shorter than ${lengthMin} characters`);
    }
    if (!fits(value)) add(problems, 'invalid_format', `is not ${is}`);
  };
}

function checkOf(field: EventField, path: string): Check {
  switch (field.kind) {
    case 'boolean':
      return (value, problems) => {
        if (typeof value !== 'boolean') problems.push(wrongType(path, 'true or false'));
      };
    case 'state':
      return (value, problems) => {
        if (value !== null && !isObject(value)) problems.push(wrongType(path, 'an object or null'));
      };
    case 'diff':
      return checkDiff;
    default:
      return textCheck(field, path);
  }
}

function objectCheck(owner: string | null): Check {
  const at = owner === null ? '' : pointerOf(owner);
  const checks = new Map<string, Check>();
  const required: string[] = [];
  for (const field of eventFields.filter(({ sent }) => sent !== undefined)) {
    const name = owner === null ? (field.owner ?? field.name) : field.name;
    if ((owner !== null && field.owner !== owner) || checks.has(name)) continue;
    const isInner = owner === null && field.owner !== null;
    checks.set(name, isInner ? objectCheck(name) : checkOf(field, at + pointerOf(name)));
    if (field.sent === 'required') required.push(name);
  }
  return (value, problems) => checkMembers(value, at, checks, required, problems);
}

function checkMembers(
  value: unknown,
  at: string,
  checks: ReadonlyMap<string, Check>,
  required: readonly string[],
  problems: Problems,
): void {
  if (!isObject(value)) {
    problems.push(wrongType(at, 'an object'));
    return;
  }
  const names = Object.keys(value);
  if (names.length > membersMax) {
    problems.push(tooMany(at, membersMax));
    return;
  }
  for (const name of required) {
    if (value[name] === undefined) problems.push(missing(at, name));
  }
  for (const name of names) {
    const check = checks.get(name);
    if (check === undefined) problems.push(unknownField(at, name));
    else if (value[name] !== undefined) check(value[name], problems);
  }
}

const missing = (at: string, name: string): FieldProblem => ({
  path: at + pointerOf(name),
  code: 'required',
  message: 'is required',
});

const unknownField = (at: string, name: string): FieldProblem => ({
  path: at + pointerOf(name),
  code: 'unknown_field',
  message: 'is not a field of this object',
});

function checkDiff(diff: unknown, problems: Problems): void {
  if (!isObject(diff)) {
    problems.push(wrongType('/diff', 'an object'));
    return;
  }
  const fields = Object.keys(diff);
  if (fields.length > diffFieldsMax) {
    problems.push(tooMany('/diff', diffFieldsMax));
    return;
  }
  for (const field of fields) {
    if (problems.length >= fieldProblemsMax) return;
    checkChange(field, diff[field], problems);
  }
}

function checkChange(field: string, change: unknown, problems: Problems): void {
  if (isObject(change) && Object.keys(change).length === 2) {
    const { from, to } = change;
    // The usual case, two short values: skips building their paths.
    if (isPlainSide(from) && isPlainSide(to)) return;
  }
  const at = pointerOf('diff', field);
  const side =
    (name: string): Check =>
    (value, found) =>
      checkSide(at + pointerOf(name), value, found);
  const sides = new Map([
    ['from', side('from')],
    ['to', side('to')],
  ]);
  checkMembers(change, at, sides, ['from', 'to'], problems);
}

const isPlainSide = (value: unknown): boolean =>
  typeof value === 'string'
    ? value.length * 3 <= diffTextBytesMax
    : value === null || typeof value === 'number' || typeof value === 'boolean';

function checkSide(path: string, value: unknown, problems: Problems): void {
  if (typeof value === 'object' && value !== null) {
    problems.push(wrongType(path, 'a text, number, boolean or null'));
  } else if (typeof value === 'string' && exceedsBytes(value, diffTextBytesMax)) {
    const message = `is larger than ${inKib(diffTextBytesMax)}`;
    problems.push({ path, code: 'too_long', message });
  }
}

const checkEvent = objectCheck(null);
