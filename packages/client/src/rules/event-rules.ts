import {
  defaultCatalogue,
  type FieldProblem,
  isEmail,
  isUuid,
  parseTimestamp,
  pointerOf,
  snakeCasePattern,
  uuidFromEventId,
  uuidTimeMs,
  wordLengthMax,
} from '@indelible/protocol';
import { canonicalIp } from './ip-address.ts';

/*
 * What the service demands of an event, field by field, with its codes. `judge-event.test.ts` holds
 * it against the service's own judgement.
 */

export type Members = Record<string, unknown>;

/** Problems of one value; their paths begin below it. */
type Rule = (value: unknown) => FieldProblem[];

export const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const bytesOf = (text: string): number => new TextEncoder().encode(text).length;

const membersMax = 32;
const diffFieldsMax = 500;
const diffTextBytesMax = 32 * 1024;
const futureMsMax = 5 * 60_000;

/** Problems of shape. Of an object with hundreds of members too many, that alone is said. */
export function shapeProblems(event: unknown): FieldProblem[] {
  const { actor, resource, diff } = (event ?? {}) as Members;
  const changes = isObject(diff) ? Object.entries(diff) : [];
  const inDiff = crowd(diff, diffFieldsMax, 'diff');
  const crowds = [
    ...crowd(event, membersMax),
    ...crowd(actor, membersMax, 'actor'),
    ...crowd(resource, membersMax, 'resource'),
    ...(inDiff.length > 0
      ? []
      : changes.flatMap(([field, change]) => crowd(change, membersMax, 'diff', field))),
  ];
  if (crowds.length > 0) return crowds;
  if (inDiff.length === 0) return eventRule(event);
  return [...eventRule({ ...(event as object), diff: {} }), ...inDiff];
}

function crowd(value: unknown, max: number, ...path: string[]): FieldProblem[] {
  if (typeof value !== 'object' || value === null || Object.keys(value).length <= max) return [];
  return [{ path: pointerOf(...path), code: 'too_many', message: `has more than ${max} members` }];
}

const problem = (code: string, message: string): FieldProblem => ({ path: '', code, message });
const wrongType = (type: string) => [problem('invalid_type', `must be ${type}`)];

interface TextRule {
  min?: number;
  max?: number;
  fits?: (text: string) => boolean;
  /** What it is, for people. */
  what?: string;
}

function text({ min = 0, max = Infinity, fits = () => true, what = 'a text' }: TextRule): Rule {
  return (value) => {
    if (typeof value !== 'string') return wrongType('a text');
    const length = value.length < min || value.length > max ? [...value].length : value.length;
    return [
      ...(length > max ? [problem('too_long', `is longer than ${max} characters`)] : []),
      ...(length < min ? [problem('too_short', `is shorter than ${min} characters`)] : []),
      ...(fits(value) ? [] : [problem('invalid_format', `is not ${what}`)]),
    ];
  };
}

const nullable =
  (rule: Rule): Rule =>
  (value) =>
    value === null ? [] : rule(value);

function object(required: Record<string, Rule>, optional: Record<string, Rule> = {}): Rule {
  const rules = new Map([...Object.entries(required), ...Object.entries(optional)]);
  return (value) => {
    if (!isObject(value)) return wrongType('an object');
    const missing = Object.keys(required).filter((name) => !Object.hasOwn(value, name));
    return [
      ...missing.map((name) => below(name)(problem('required', 'is required'))),
      ...Object.entries(value).flatMap(([name, member]) => {
        const rule = rules.get(name) ?? unknownField;
        return rule(member).map(below(name));
      }),
    ];
  };
}

const unknownField: Rule = () => [problem('unknown_field', 'is not a field of this object')];

const below =
  (name: string) =>
  ({ path, ...rest }: FieldProblem): FieldProblem => ({ path: pointerOf(name) + path, ...rest });

const snakeCaseExpression = new RegExp(snakeCasePattern, 'u');
const snakeCase = text({
  max: wordLengthMax,
  fits: (word) => snakeCaseExpression.test(word),
  what: 'a snake_case word',
});
const uuid = text({ fits: isUuid, what: 'a UUID' });
const isScalar: Rule = (value) =>
  typeof value === 'object' && value !== null ? wrongType('a text, number, boolean or null') : [];
const state = nullable((value) => (isObject(value) ? [] : wrongType('an object or null')));

const diffText: Rule = (value) =>
  typeof value === 'string' && bytesOf(value) > diffTextBytesMax
    ? [problem('too_long', 'is larger than 32 KiB')]
    : isScalar(value);
const change = object({ from: diffText, to: diffText });
const diffRule: Rule = (value) =>
  isObject(value)
    ? Object.entries(value).flatMap(([field, member]) => change(member).map(below(field)))
    : wrongType('an object');

// An exclamation mark in front only keeps an address from being filtered by.
const isRecordedEmail = (email: string) => email.length > 320 || isEmail(email.replace(/^!+/, ''));

const actorRule = object(
  {
    id: uuid,
    role: text({
      min: 1,
      max: 64,
      fits: (role) => /^[^\s\p{Cc}\p{Cf}]+$/u.test(role),
      what: 'one word of visible characters',
    }),
  },
  {
    email: nullable(text({ max: 320, fits: isRecordedEmail, what: 'an e-mail address' })),
    ip: nullable(text({ max: 64, fits: (ip) => canonicalIp(ip) !== null, what: 'an IP address' })),
    userAgent: nullable(text({})),
  },
);

const eventRule = object(
  {
    actor: actorRule,
    action: snakeCase,
    resource: object({ type: snakeCase, id: uuid }, { name: nullable(text({ max: 200 })) }),
  },
  {
    id: text({
      fits: (id) => /^evt_audit_[0-7][0-9a-hjkmnp-tv-z]{25}$/.test(id),
      what: 'evt_audit_ and 26 characters of base32',
    }),
    timestamp: text({
      fits: (time) => parseTimestamp(time) !== null,
      what: 'an ISO 8601 time',
    }),
    tenantId: uuid,
    diff: diffRule,
    crossTenant: (value) => (typeof value === 'boolean' ? [] : wrongType('a boolean')),
    reason: nullable(text({ max: 1_000 })),
    before: state,
    after: state,
  },
);

export interface RuleContext {
  nowMs: number;
  /** Null: a credential of the platform. Undefined: not known, and every tenant will do. */
  boundTenantId: string | null | undefined;
}

/** What fields say together. Those that `wrong` names already are not judged again. */
export function ruleProblems(
  event: Members,
  wrong: ReadonlySet<string>,
  { nowMs, boundTenantId }: RuleContext,
): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const add = (path: string, code: string, message: string) =>
    wrong.has(path) ? 0 : problems.push({ path, code, message });
  const word = (owner: unknown, name: string, path: string) => {
    const value = isObject(owner) ? owner[name] : undefined;
    return typeof value === 'string' && !wrong.has(path) ? value : undefined;
  };
  const role = word(event.actor, 'role', '/actor/role');
  if (event.crossTenant === true && role !== undefined && role !== 'superadmin') {
    add('/crossTenant', 'cross_tenant_mismatch', 'is true, but the actor is not a superadmin');
  }
  const id = word(event, 'id', '/id');
  const timestamp = word(event, 'timestamp', '/timestamp');
  for (const each of timeProblems(id, timestamp, nowMs)) add(each.path, each.code, each.message);
  if (boundTenantId === null && event.tenantId === undefined && wrong.size === 0) {
    add('/tenantId', 'required', 'is required with a platform-bound credential');
  }
  const action = word(event, 'action', '/action') ?? '';
  const type = word(event.resource, 'type', '/resource/type') ?? '';
  const refusal = defaultCatalogue.notRecordable(action, type);
  if (refusal !== null) add('/action', 'not_recordable', refusal);
  return problems;
}

function timeProblems(id: string | undefined, timestamp: string | undefined, nowMs: number) {
  const problems: FieldProblem[] = [];
  const add = (path: string, code: string, message: string) =>
    problems.push({ path, code, message });
  const uuidOfId = id === undefined ? undefined : uuidFromEventId(id);
  if (uuidOfId === null) add('/id', 'invalid_format', 'is not a TypeID of a UUIDv7');
  const idTime = uuidOfId ? uuidTimeMs(uuidOfId) : null;
  const stamp = timestamp === undefined ? null : parseTimestamp(timestamp);
  if (idTime !== null && stamp !== null && idTime !== stamp) {
    add('/timestamp', 'id_timestamp_mismatch', 'differs from the time within the id');
  }
  if ((idTime ?? stamp ?? nowMs) > nowMs + futureMsMax) {
    const path = stamp === null ? '/id' : '/timestamp';
    add(path, 'timestamp_in_future', 'is more than 5 minutes ahead');
  }
  return problems;
}
