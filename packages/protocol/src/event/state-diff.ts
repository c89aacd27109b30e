import { diffFieldsMax, diffTextBytesMax } from './limits.ts';

export type Scalar = string | number | boolean | null;

/** The values of one field before and after a change; absent = `null`. */
export type FieldChange = {
  from: Scalar;
  to: Scalar;
};

/** Changes by the dotted path of their field. */
export type Diff = Record<string, FieldChange>;

export interface StateDiff {
  diff: Diff;
  /** Whether a difference was left out or shortened. */
  truncated: boolean;
}

// Without a limit, 500 fields below one key of 200 KB would make 100 MB of paths.
const pathCharactersMax = 1024;

/** The differences found so far; `full` ends the walk. */
interface Findings {
  changes: Map<string, FieldChange>;
  maxFields: number;
  truncated: boolean;
  full: boolean;
}

/**
 * The leaves that differ between two JSON states (`checkJson` has limited their depth). Paths are
 * dotted (`steps.0.name`), `null` equals absent, an empty container is the text `{}` or `[]`. The
 * order is fixed: depth first, members by UTF-16 code units, elements by index; the first
 * `maxFields` are kept.
 * `truncated` is also true if a text was cut to 32 KiB, or if a leaf was left out because its path
 * has over 1,024 characters or equals an earlier path (`{"a.b": 1}` beside `{"a": {"b": 1}}`).
 */
export function diffStates(
  before: object | null,
  after: object | null,
  maxFields = diffFieldsMax,
): StateDiff {
  const found: Findings = { changes: new Map(), maxFields, truncated: false, full: false };
  compareMembers(null, before, after, found);
  // fromEntries defines members; assignment would call the `__proto__` setter.
  return { diff: Object.fromEntries(found.changes), truncated: found.truncated };
}

function compare(path: string, from: unknown, to: unknown, found: Findings): void {
  if (from === to) return;
  record(path, leafOf(from), leafOf(to), found);
  compareMembers(path, from, to, found);
}

function compareMembers(path: string | null, from: unknown, to: unknown, found: Findings): void {
  for (const key of memberNames(from, to)) {
    if (found.full) return;
    const memberPath = path === null ? key : `${path}.${key}`;
    compare(memberPath, memberOf(from, key), memberOf(to, key), found);
  }
}

/** A container with members is not a leaf; as a leaf it counts as absent. */
function leafOf(value: unknown): Scalar {
  if (value === undefined) return null;
  if (!isContainer(value)) return value as Scalar;
  if (Object.keys(value).length > 0) return null;
  return Array.isArray(value) ? '[]' : '{}';
}

function memberNames(from: unknown, to: unknown): string[] {
  if (Array.isArray(from) && Array.isArray(to)) {
    return Object.keys(from.length > to.length ? from : to);
  }
  if (!isContainer(from)) return isContainer(to) ? namesOf(to) : [];
  if (!isContainer(to)) return namesOf(from);
  return [...new Set([...Object.keys(from), ...Object.keys(to)])].sort();
}

function namesOf(container: object): string[] {
  const names = Object.keys(container);
  return Array.isArray(container) ? names : names.sort();
}

// Own members only: `constructor` and `__proto__` are inherited by every object, and every array
// has a `length`.
function memberOf(container: unknown, name: string): unknown {
  if (!isContainer(container)) return undefined;
  const own = Object.prototype.propertyIsEnumerable.call(container, name);
  return own ? (container as Record<string, unknown>)[name] : undefined;
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function record(path: string, from: Scalar, to: Scalar, found: Findings): void {
  if (from === to) return;
  found.full = found.changes.size >= found.maxFields;
  if (found.full || path.length > pathCharactersMax || found.changes.has(path)) {
    found.truncated = true;
    return;
  }
  found.changes.set(path, { from: cutText(from, found), to: cutText(to, found) });
}

const utf8 = new TextEncoder();
const measure = new Uint8Array(diffTextBytesMax);

function cutText(value: Scalar, found: Findings): Scalar {
  // UTF-8 takes at most three bytes per UTF-16 unit.
  if (typeof value !== 'string' || value.length * 3 <= diffTextBytesMax) return value;
  // encodeInto stops before the first character that does not fit, so no character is split.
  const { read } = utf8.encodeInto(value, measure);
  if (read < value.length) found.truncated = true;
  return value.slice(0, read);
}
