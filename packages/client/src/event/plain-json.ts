import {
  createMasker,
  type Diff,
  defaultMaskedKeys,
  type JsonObject,
  type JsonValue,
} from '@indelible/protocol';

/*
 * The JSON of a value, as a value. Secrets are searched in what is really sent, because `toJSON`
 * can change an object. Does not use JSON.parse, for the reason in docs/decisions/0006.
 */

// Far more than the service accepts; also stops circular values.
const depthMax = 200;

/**
 * The value as JSON holds it: dates become texts, undefined members and functions are dropped,
 * numbers that JSON lacks become null. Throws TypeError for a BigInt and for nesting over 200
 * levels, such as a circular object.
 */
export function plainJson(value: unknown): JsonValue {
  return plain('', value, 0) ?? null;
}

/** Undefined: JSON drops it. */
function plain(key: string, source: unknown, depth: number): JsonValue | undefined {
  const value = unboxed(converted(key, source));
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      // Makes -0 a 0: JSON has one zero.
      return Number.isFinite(value) ? value + 0 : null;
    case 'bigint':
      throw new TypeError('JSON has no BigInt');
    case 'object':
      return value === null ? null : plainContainer(value, depth);
    default:
      return undefined;
  }
}

function plainContainer(value: object, depth: number): JsonValue {
  if (depth >= depthMax) throw new TypeError('a value is nested too deeply, or contains itself');
  if (Array.isArray(value)) {
    return Array.from(value, (item, index) => plain(String(index), item, depth + 1) ?? null);
  }
  const members: [string, JsonValue][] = [];
  for (const [key, member] of Object.entries(value)) {
    const made = plain(key, member, depth + 1);
    if (made !== undefined) members.push([key, made]);
  }
  // fromEntries defines members; assignment would call the `__proto__` setter.
  return Object.fromEntries(members);
}

function converted(key: string, value: unknown): unknown {
  if ((typeof value !== 'object' && typeof value !== 'bigint') || value === null) return value;
  const { toJSON } = value as { toJSON?: unknown };
  return typeof toJSON === 'function' ? toJSON.call(value, key) : value;
}

function unboxed(value: unknown): unknown {
  const isBoxed = value instanceof String || value instanceof Number || value instanceof Boolean;
  return isBoxed ? value.valueOf() : value;
}

/** Any object that can be JSON; `null` and undefined mean that the resource does not exist. */
type StateValue = object | null | undefined;

const defaultMasker = createMasker(defaultMaskedKeys);

/**
 * The diff that the service computes from `before` and `after`: dotted paths, elements of lists
 * aligned and named by index, at most 500 fields, texts cut at 32 KiB, secrets masked (the
 * service's key names and `maskedKeys`). Throws TypeError for values that cannot be JSON.
 */
export function diffOf(
  before: StateValue,
  after: StateValue,
  maskedKeys: readonly string[] = [],
): Diff {
  const isDefault = maskedKeys.length === 0;
  const masker = isDefault ? defaultMasker : createMasker([...defaultMaskedKeys, ...maskedKeys]);
  return masker.diffStates(stateOf(before), stateOf(after)).diff;
}

function stateOf(value: StateValue): JsonObject | null {
  const json = plainJson(value);
  return typeof json === 'object' ? (json as JsonObject | null) : null;
}
