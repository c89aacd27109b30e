import { checkJson } from '../json/canonical.ts';
import { isCount, isObject } from '../json/strict-json.ts';
import { type EventField, eventFields, type FieldKind, type MemberRule } from './event-fields.ts';
import { isUuid, uuidFromEventId } from './event-id.ts';
import { boundedPath, type FieldProblem, fieldProblemsMax, pointerOf } from './field-problem.ts';
import {
  exceedsBytes,
  isExternalId,
  isLonger,
  isPrintable,
  isRecordedEmail,
  isRole,
  isVisible,
  isWord,
  wordForm,
} from './field-rules.ts';
import { plainIp } from './ip-address.ts';
import {
  diffFieldsMax,
  diffTextBytesMax,
  inKib,
  membersMax,
  metadataKeyLengthMax,
  metadataKeysMax,
  metadataTextLengthMax,
  stateBytesMax,
} from './limits.ts';
import { parseTimestamp, timeForm } from './timestamp.ts';

/* Checks the shape of an event by the table of fields; the checks are compiled once. */

type Problems = FieldProblem[];
type Check = (value: unknown, problems: Problems) => void;
export type Members = Record<string, unknown>;

/**
 * All problems of an event's members, each checked on its own: forbidden JSON values, and the rules
 * of the field table. Values are JSON values; `undefined` means absent.
 */
export function shapeProblems(event: unknown): Problems {
  // An object with too many members is refused without checking them.
  if (isObject(event) && Object.keys(event).length > membersMax) return [tooMany('', membersMax)];
  const found: Problems = [];
  checkEvent(event, found);
  if (!isObject(event)) return found;
  const beyond = found.filter(({ code }) => bounds.has(code)).map(({ path }) => path);
  const problems = jsonProblems(event, new Set(beyond));
  if (problems.length === 0) return found;
  const named = new Set(problems.map(({ path }) => path));
  return [...problems, ...found.filter(({ path }) => !named.has(path))];
}

/** A field with one of these problems is looked at no further. */
const bounds = new Set(['invalid_type', 'too_long', 'too_many']);

/** No object of an event has more, not even a state: a member takes five bytes, as in `"":0,`. */
const anyMembersMax = Math.floor(stateBytesMax / 5);

/** Forbidden JSON values. Depth counts from each member, so a state may have 32 levels. */
export function jsonProblems(event: Members, skipped: ReadonlySet<string> = new Set()): Problems {
  const problems: Problems = [];
  for (const [field, value] of Object.entries(event)) {
    if (problems.length >= fieldProblemsMax) break;
    if (skipped.has(pointerOf(field))) continue;
    if (isObject(value) && Object.keys(value).length > anyMembersMax) {
      problems.push(tooMany(pointerOf(field), anyMembersMax));
      continue;
    }
    for (const found of [checkJson(field), checkJson(value)]) {
      for (const { path, ...rest } of found) {
        problems.push({ path: boundedPath(pointerOf(field) + path), ...rest });
      }
    }
  }
  return problems;
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

interface TextKind {
  fits(text: string): boolean;
  is: string;
}

/** The format of each kind of text, with its description for error messages. */
const textKinds: Partial<Record<FieldKind, TextKind>> = {
  eventId: {
    fits: (text) => uuidFromEventId(text) !== null,
    is: 'a TypeID: evt_audit_ and a UUIDv7 in base32',
  },
  uuid: { fits: isUuid, is: 'a UUID' },
  tenant: { fits: isExternalId, is: 'a UUID, or an own id of visible characters' },
  word: { fits: isWord, is: wordForm },
  // No invisible characters, so that a role cannot imitate another one.
  role: { fits: isRole, is: 'a text of visible characters' },
  // A blank one would stand in lists in place of the id.
  name: { fits: isVisible, is: 'a text with a visible character' },
  externalId: { fits: isExternalId, is: 'an id of visible characters without a leading !' },
  traceId: { fits: (text) => /^[0-9a-f]{32}$/i.test(text), is: '32 hexadecimal digits' },
  email: { fits: isRecordedEmail, is: 'an e-mail address of visible characters' },
  ip: { fits: (text) => plainIp(text) !== null, is: 'an IP address' },
  time: { fits: (text) => parseTimestamp(text) !== null, is: timeForm },
};

/** What a check needs to know of a field, or of a member of an object in it. */
interface Checked extends Pick<MemberRule, 'kind' | 'lengthMax' | 'values' | 'unless'> {
  nullable?: boolean;
  lengthMin?: number;
}

function textKind({ kind, values, unless }: Checked): TextKind {
  if (values) return { fits: (text) => values.includes(text), is: `one of ${values.join(', ')}` };
  const known = textKinds[kind] ?? { fits: () => true, is: 'a text' };
  return unless ? { ...known, is: `${known.is}: send your own ids as ${unless}` } : known;
}

function textCheck(rule: Checked, path: string): Check {
  const { lengthMin = rule.kind === 'role' ? 1 : 0, lengthMax = Infinity, nullable } = rule;
  const { fits, is } = textKind(rule);
  const add = (problems: Problems, code: string, message: string) =>
    problems.push({ path, code, message });
  return (value, problems) => {
    if (nullable && (value === null || value === '')) return;
    if (typeof value !== 'string') {
      problems.push(wrongType(path, nullable ? 'a text or null' : 'a text'));
      return;
    }
    // The length first: the format of a text without bounds may take seconds to judge.
    if (isLonger(value, lengthMax)) {
      add(problems, 'too_long', `is longer than ${lengthMax} characters`);
    } else if (value.length < lengthMin) {
      add(problems, 'too_short', `is shorter than ${lengthMin} characters`);
    } else if (!fits(value)) {
      add(problems, rule.values ? 'invalid_value' : 'invalid_format', `is not ${is}`);
    }
  };
}

function checkOf(rule: Checked, path: string): Check {
  switch (rule.kind) {
    case 'boolean':
      return (value, problems) => {
        if (typeof value !== 'boolean') problems.push(wrongType(path, 'true or false'));
      };
    case 'sequence':
      return (value, problems) => {
        if (!isCount(value)) problems.push(wrongType(path, 'a whole number from 0'));
      };
    case 'state':
      return (value, problems) => {
        if (value !== null && !isObject(value)) problems.push(wrongType(path, 'an object or null'));
      };
    case 'diff':
      return checkDiff;
    default:
      return textCheck(rule, path);
  }
}

/** The check of a field. A field of version 2 may be null, as if it were not sent. */
function fieldCheck(field: EventField, path: string): Check {
  const rule = { ...field, nullable: field.nullable === true || field.since === 2 };
  const check = compoundCheck(field, path) ?? checkOf(rule, path);
  if (field.since !== 2) return check;
  return (value, problems) => {
    if (value !== null) check(value, problems);
  };
}

function compoundCheck({ kind, members = {}, itemsMax = 0 }: EventField, path: string) {
  if (kind === 'metadata') return checkMetadata;
  if (kind === 'object') {
    const check = membersCheck(members, path);
    // One without members counts as not sent, as an empty text or list does.
    return (value: unknown, problems: Problems) => {
      if (!isObject(value) || Object.keys(value).length > 0) check(value, problems);
    };
  }
  if (kind !== 'list') return null;
  const items = Array.from({ length: itemsMax }, (_, at) => membersCheck(members, `${path}/${at}`));
  return (list: unknown, problems: Problems) => {
    if (!Array.isArray(list)) problems.push(wrongType(path, 'a list of objects'));
    else if (list.length > itemsMax) {
      problems.push({ path, code: 'too_many', message: `has more than ${itemsMax} elements` });
    } else {
      for (const [at, item] of list.entries()) items[at]?.(item, problems);
    }
  };
}

function membersCheck(members: Readonly<Record<string, MemberRule>>, at: string): Check {
  const checks = new Map<string, Check>();
  const required: Required[] = [];
  for (const [name, rule] of Object.entries(members)) {
    const nullable = rule.sent === undefined;
    checks.set(name, checkOf({ ...rule, nullable, lengthMin: 1 }, at + pointerOf(name)));
    if (!nullable) required.push({ name, unless: rule.unless });
  }
  return (value, problems) => checkMembers(value, at, checks, required, problems);
}

const metadataPath = pointerOf('metadata');

function checkMetadata(value: unknown, problems: Problems): void {
  if (!isObject(value)) {
    problems.push(wrongType(metadataPath, 'an object'));
    return;
  }
  const entries = Object.entries(value);
  if (entries.length > metadataKeysMax) {
    problems.push(tooMany(metadataPath, metadataKeysMax));
    return;
  }
  for (const [key, scalar] of entries) {
    const path = pointerOf('metadata', key);
    const add = (code: string, message: string) => problems.push({ path, code, message });
    if (isLonger(key, metadataKeyLengthMax)) {
      add('too_long', `has a name of more than ${metadataKeyLengthMax} characters`);
    } else if (key === '' || !isPrintable(key)) {
      add('invalid_format', 'has no name that can be printed');
    }
    if (typeof scalar === 'object' && scalar !== null) {
      problems.push(wrongType(path, 'a text, number, boolean or null'));
    } else if (typeof scalar === 'string' && isLonger(scalar, metadataTextLengthMax)) {
      add('too_long', `is longer than ${metadataTextLengthMax} characters`);
    }
  }
}

/** A member that an object needs, unless it has another one. */
interface Required {
  name: string;
  unless?: string | undefined;
}

function objectCheck(owner: string | null): Check {
  const at = owner === null ? '' : pointerOf(owner);
  const checks = new Map<string, Check>();
  const required: Required[] = [];
  for (const field of eventFields.filter(({ sent }) => sent !== undefined)) {
    const name = owner === null ? (field.owner ?? field.name) : field.name;
    if ((owner !== null && field.owner !== owner) || checks.has(name)) continue;
    const isInner = owner === null && field.owner !== null;
    checks.set(name, isInner ? objectCheck(name) : fieldCheck(field, at + pointerOf(name)));
    if (field.sent === 'required')
      required.push({ name, unless: isInner ? undefined : field.unless });
  }
  return (value, problems) => checkMembers(value, at, checks, required, problems);
}

function checkMembers(
  value: unknown,
  at: string,
  checks: ReadonlyMap<string, Check>,
  required: readonly Required[],
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
  for (const { name, unless } of required) {
    if (value[name] !== undefined || (unless !== undefined && value[unless])) continue;
    problems.push(missing(at, name, unless));
  }
  for (const name of names) {
    const check = checks.get(name);
    if (check === undefined) problems.push(unknownField(at, name));
    else if (value[name] !== undefined) check(value[name], problems);
  }
}

const missing = (at: string, name: string, unless?: string): FieldProblem => ({
  path: at + pointerOf(name),
  code: 'required',
  message: unless === undefined ? 'is required' : `is required, unless ${unless} is given`,
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
  checkMembers(change, at, sides, [{ name: 'from' }, { name: 'to' }], problems);
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
