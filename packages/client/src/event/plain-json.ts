import { createMasker, type Diff, type JsonObject, type JsonValue } from '@indelible/protocol';
import { errorOf } from '../error-of.ts';

/*
 * The JSON of a value, as a value. Secrets are searched in what is really sent, because `toJSON`
 * can change an object. Does not use JSON.parse, for the reason in docs/decisions/0006.
 */

// Far more than the service accepts; also stops circular values.
const depthMax = 200;
// The longest path that an error shows.
const pathMax = 8;

/** How many more characters the JSON may have, at least. */
interface Room {
  left: number;
}

/**
 * The value as JSON holds it: dates become texts, undefined members and functions are dropped,
 * numbers that JSON lacks become null. A Set becomes a list, a Map an object (a list of its entries
 * if a key is an object), a RegExp its text, an Error its name, message and own members.
 * Throws TypeError, which names the member, for a BigInt, for one that cannot be read, and for
 * nesting over 200 levels, such as a circular object; TooLongError as soon as the JSON certainly
 * has more than `charactersMax` characters.
 */
export function plainJson(value: unknown, charactersMax = Number.POSITIVE_INFINITY): JsonValue {
  try {
    return plain('', value, 0, { left: charactersMax }) ?? null;
  } catch (cause) {
    const reason = notJsonOf(cause);
    if (reason instanceof TooLongError) throw reason;
    const { path, message, cause: thrown } = reason;
    const shown = path.slice(-pathMax).reverse().join('/');
    throw new TypeError(`/${shown} ${message}`, { cause: thrown });
  }
}

/** Why a value cannot be JSON. */
class NotJson extends Error {
  /** Its names, innermost first. */
  readonly path: string[] = [];
}

/** The JSON has more characters than the caller allows. */
export class TooLongError extends NotJson {}

/** A getter or `toJSON` may throw anything. */
function notJsonOf(cause: unknown): NotJson {
  if (cause instanceof NotJson) return cause;
  return new NotJson(`cannot be read: ${errorOf(cause).message}`, { cause });
}

/** Undefined: JSON drops it. */
function plain(key: string, source: unknown, depth: number, room: Room): JsonValue | undefined {
  const value = unboxed(converted(key, source));
  room.left -= typeof value === 'string' ? value.length + 2 : 1;
  if (room.left < 0) throw new TooLongError();
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      // Makes -0 a 0: JSON has one zero.
      return Number.isFinite(value) ? value + 0 : null;
    case 'bigint':
      throw new NotJson('is a BigInt: send it as a text');
    case 'object':
      return value === null ? null : plainContainer(value, depth, room);
    default:
      return undefined;
  }
}

function plainContainer(value: object, depth: number, room: Room): JsonValue {
  if (depth >= depthMax) throw new NotJson(`is nested over ${depthMax} levels, or contains itself`);
  if (Array.isArray(value)) {
    return Array.from(value, (_, index) => plainMember(value, String(index), depth, room) ?? null);
  }
  const members: [string, JsonValue][] = [];
  for (const key of Object.keys(value)) {
    const made = plainMember(value, key, depth, room);
    if (made !== undefined) members.push([key, made]);
  }
  // fromEntries defines members; assignment would call the `__proto__` setter.
  return Object.fromEntries(members);
}

function plainMember(owner: object, key: string, depth: number, room: Room): JsonValue | undefined {
  try {
    return plain(key, (owner as Record<string, unknown>)[key], depth + 1, room);
  } catch (cause) {
    const reason = notJsonOf(cause);
    reason.path.push(key);
    throw reason;
  }
}

function converted(key: string, value: unknown): unknown {
  if ((typeof value !== 'object' && typeof value !== 'bigint') || value === null) return value;
  const { toJSON } = value as { toJSON?: unknown };
  return typeof toJSON === 'function' ? toJSON.call(value, key) : value;
}

/** The value in an object whose members do not hold it: JSON would make `{}` of most of them. */
function unboxed(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof String || value instanceof Number || value instanceof Boolean) {
    return value.valueOf();
  }
  if (value instanceof Set) return [...value];
  if (value instanceof Map) {
    if ([...value.keys()].every(isName)) return Object.fromEntries(value);
    // Secrets are found by the names of members, which a pair does not have.
    return Array.from(value, (pair) => (isName(pair[0]) ? Object.fromEntries([pair]) : pair));
  }
  if (value instanceof RegExp) return String(value);
  if (value instanceof Error) return { ...value, name: value.name, message: value.message };
  return value;
}

const isName = (key: unknown) => Object(key) !== key;

/** Any object that can be JSON; `null` and undefined mean that the resource does not exist. */
type StateValue = object | null | undefined;

const defaultMasker = createMasker();

/**
 * The diff that the service computes from `before` and `after`: dotted paths, elements of lists
 * by their `id`, `key`, `name` or value, at most 500 fields, texts cut at 32 KiB, secrets masked
 * (the service's key names and `maskedKeys`). Throws TypeError for values that cannot be JSON.
 */
export function diffOf(
  before: StateValue,
  after: StateValue,
  maskedKeys: readonly string[] = [],
): Diff {
  const isDefault = maskedKeys.length === 0;
  const masker = isDefault ? defaultMasker : createMasker(maskedKeys);
  return masker.diffStates(stateOf(before), stateOf(after)).diff;
}

function stateOf(value: StateValue): JsonObject | null {
  const json = plainJson(value);
  return typeof json === 'object' ? (json as JsonObject | null) : null;
}
