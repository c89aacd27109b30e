import type { JsonValue } from '@indelible/protocol';

/*
 * What JSON would make of a value, as a value: secrets are looked for in what
 * really leaves, not in an object that turns into something else (`toJSON`)
 * on its way. Not by JSON.parse, for which see docs/decisions/0006.
 */

// Far beyond what the service takes; it also ends values that contain themselves.
const depthMax = 200;

/**
 * The value as JSON carries it: dates become text, undefined members and functions are left out,
 * numbers that JSON lacks become null. Throws TypeError for a BigInt and for nesting over 200
 * levels, such as that of an object that contains itself.
 */
export function plainJson(value: unknown): JsonValue {
  return plain('', value, 0) ?? null;
}

/** Undefined: JSON leaves it out. */
function plain(key: string, source: unknown, depth: number): JsonValue | undefined {
  const value = unboxed(converted(key, source));
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      // JSON has one zero.
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
  // fromEntries defines members where assignment would run the `__proto__` setter.
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
