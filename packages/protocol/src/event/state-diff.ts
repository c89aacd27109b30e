import { diffFieldsMax, diffTextBytesMax } from './limits.ts';

export type Scalar = string | number | boolean | null;

/** One field's values around a change; absent = `null`. */
export type FieldChange = {
  from: Scalar;
  to: Scalar;
};

/** Dotted path of a field to its change. */
export type Diff = Record<string, FieldChange>;

export interface StateDiff {
  diff: Diff;
  /** Something that differs was left out or cut. */
  truncated: boolean;
}

// Without a bound, 500 fields below one key of 200 KB would make 100 MB of paths.
const pathCharactersMax = 1024;

/** What is being collected: `full` ends the walk. */
interface Findings {
  changes: Map<string, FieldChange>;
  maxFields: number;
  truncated: boolean;
  full: boolean;
}

/**
 * The leaves that differ between two states of JSON (`checkJson` has bounded their depth): paths
 * are dotted (`steps.0.name`), `null` and absent are equal, an empty container is the text `{}` or
 * `[]`. Fields come in a fixed order: depth first, members by UTF-16 code units, elements by index;
 * of more than `maxFields` the first in this order are kept. `truncated` also tells of texts cut to
 * 32 KiB, and of leaves left out because their path is over 1,024 characters or equals an earlier
 * one's (`{"a.b": 1}` beside `{"a": {"b": 1}}`).
 */
export function diffStates(
  before: object | null,
  after: object | null,
  maxFields = diffFieldsMax,
): StateDiff {
  const found: Findings = { changes: new Map(), maxFields, truncated: false, full: false };
  compareMembers(null, before, after, found);
  // fromEntries defines members where assignment would run the `__proto__` setter.
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

/** A container with members is no leaf: as one it is as good as absent. */
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

// Reading `constructor` or `__proto__` plainly would find what
// every object inherits, and `length` what every array has.
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
  // A UTF-16 unit takes at most three bytes of UTF-8.
  if (typeof value !== 'string' || value.length * 3 <= diffTextBytesMax) return value;
  // encodeInto stops before the first character that does not fit: the cut is between characters.
  const { read } = utf8.encodeInto(value, measure);
  if (read < value.length) found.truncated = true;
  return value.slice(0, read);
}
