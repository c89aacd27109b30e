import { alignLists, type Effort } from './align-lists.ts';
import { diffFieldsMax, diffTextBytesMax } from './limits.ts';

export type Scalar = string | number | boolean | null;

/** The replacement of a secret. */
export const maskText = '[masked]';

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

// Enough for lists of a thousand elements, beside what they have in common at both ends; some
// milliseconds.
const effortMax: Effort = { characters: 2 ** 20, comparisons: 2 ** 20 };

/** A leaf of a state; undefined: the state has none at this path. */
export type StateLeaf = Scalar | undefined;

/** Gets one leaf of two states, or of one; returns whether it takes more. */
type TakeLeaf = (path: string, from: StateLeaf, to: StateLeaf) => boolean;

/**
 * Gives the leaves of two JSON states (`checkJson` has limited their depth) in one order: depth
 * first, members by UTF-16 code units, elements as they are aligned (`alignLists`). Paths are
 * dotted (`steps.0.name`), an empty container is the text `{}` or `[]`. Skips elements that it
 * knows to be equal. Removed elements may have the path of one that did not change.
 */
export function compareStates(before: object | null, after: object | null, take: TakeLeaf): void {
  const pairsOf = memberPairs();
  const compareMembers = (prefix: string, from: unknown, to: unknown): boolean =>
    pairsOf(from, to).every((pair) => pair.isEqual || compare(`${prefix}${pair.name}`, pair));
  const compare = (path: string, { from, to }: MemberPair): boolean => {
    const [leaf, other] = [leafOf(from), leafOf(to)];
    const isLeaf = leaf !== undefined || other !== undefined;
    return (!isLeaf || take(path, leaf, other)) && compareMembers(`${path}.`, from, to);
  };
  compareMembers('', before, after);
}

/** A member of two containers; undefined: that one does not have it. */
export interface MemberPair {
  /** Of a list: the index, of a removed element in the old list. */
  name: string;
  from: unknown;
  to: unknown;
  /** Whether the two are known to be equal. */
  isEqual: boolean;
}

/**
 * A function that pairs the members of two values of one comparison, in the order of every diff:
 * by UTF-16 code units, elements as they are aligned. Values that are no containers have none.
 */
export function memberPairs(): (from: unknown, to: unknown) => MemberPair[] {
  const effort = { ...effortMax };
  return (from, to) =>
    Array.isArray(from) && Array.isArray(to)
      ? alignLists(from, to, effort).map(({ index, ...pair }) => ({ name: `${index}`, ...pair }))
      : memberNames(from, to).map((name) => ({
          ...{ name, from: memberOf(from, name), to: memberOf(to, name) },
          isEqual: false,
        }));
}

/**
 * The leaves that differ between two states, see `compareStates`; `null` equals absent. The first
 * `maxFields` are kept. `truncated` is also true if a text was cut to 32 KiB, or if a leaf was left
 * out because its path has over 1,024 characters or equals an earlier path (`{"a.b": 1}` beside
 * `{"a": {"b": 1}}`).
 */
export function diffStates(
  before: object | null,
  after: object | null,
  maxFields = diffFieldsMax,
): StateDiff {
  const changes = new Map<string, FieldChange>();
  let truncated = false;
  const cut = (value: Scalar): Scalar => {
    // Two secrets, which differ behind their mask.
    if (typeof value === 'string' && value.startsWith(`${maskText}\0`)) return maskText;
    const text = cutText(value);
    truncated ||= text !== value;
    return text;
  };
  const take: TakeLeaf = (path, from = null, to = null) => {
    if (from === to) return true;
    const isFull = changes.size >= maxFields;
    if (isFull || path.length > pathCharactersMax || changes.has(path)) truncated = true;
    else changes.set(path, { from: cut(from), to: cut(to) });
    return !isFull;
  };
  compareStates(before, after, take);
  // fromEntries defines members; assignment would call the `__proto__` setter.
  return { diff: Object.fromEntries(changes), truncated };
}

/** A container with members is not a leaf; as a leaf it counts as absent. */
export function leafOf(value: unknown): StateLeaf {
  if (!isContainer(value)) return value as StateLeaf;
  if (Object.keys(value).length > 0) return undefined;
  return Array.isArray(value) ? '[]' : '{}';
}

function memberNames(from: unknown, to: unknown): string[] {
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

const utf8 = new TextEncoder();
const measure = new Uint8Array(diffTextBytesMax);

function cutText(value: Scalar): Scalar {
  // UTF-8 takes at most three bytes per UTF-16 unit.
  if (typeof value !== 'string' || value.length * 3 <= diffTextBytesMax) return value;
  // encodeInto stops before the first character that does not fit, so no character is split.
  const { read } = utf8.encodeInto(value, measure);
  return value.slice(0, read);
}
