import { isObject } from '../json/strict-json.ts';
import { alignLists, type ElementPair } from './align-lists.ts';
import { counted, diffFieldsMax, diffTextBytesMax } from './limits.ts';

export type Scalar = string | number | boolean | null;

/** The replacement of a secret. */
export const maskText = '[masked]';

/** The values of one field before and after a change; absent = `null`. */
export type FieldChange = {
  from: Scalar;
  to: Scalar;
};

/** Changes by the path of their field: `address.city`, `members[carl].role`. */
export type Diff = Record<string, FieldChange>;

export interface StateDiff {
  diff: Diff;
  /** Whether a difference was left out or shortened. */
  truncated: boolean;
}

// Without a limit, 500 fields below one key of 200 KB would make 100 MB of paths.
const pathCharactersMax = 1024;

/** A leaf of a state; undefined: the state has none at this path. */
export type StateLeaf = Scalar | undefined;

/** Gets one leaf of two states, or of one; returns whether it takes more. */
type TakeLeaf = (path: string, from: StateLeaf, to: StateLeaf) => boolean;

/**
 * Gives the leaves of two JSON states (`checkJson` has limited their depth) in one order: depth
 * first, members by UTF-16 code units, elements as they are aligned (`alignLists`). No two have one
 * path. Skips elements that it knows to be equal.
 */
export function compareStates(before: object | null, after: object | null, take: TakeLeaf): void {
  const compare = (path: string, { from, to, members }: ComparedValues): boolean => {
    const isLeaf = from !== undefined || to !== undefined;
    if (isLeaf && path !== '' && !take(path, from, to)) return false;
    return members.every((pair) => pair.isTold || compare(pathTo(path, pair), inside(pair)));
  };
  const inside = ({ from, to, identity }: MemberPair) => compareValues(from, to, identity);
  const pathTo = (path: string, { step }: MemberPair) =>
    path === '' && step.startsWith('.') ? step.slice(1) : path + step;
  compare('', compareValues(before, after));
}

/** A member of two objects, or an element of two lists, before and after. */
export interface MemberPair extends ElementPair {
  /** The member's own name; of an element how a path tells it. */
  name: string;
}

/** Two values of one path. */
export interface ComparedValues {
  /** A side; for an object or list undefined, or what its members do not tell. */
  from: StateLeaf;
  to: StateLeaf;
  members: MemberPair[];
}

/**
 * Two values as every diff shows them. An empty container is the text `[]` or `{}`. A list in
 * another order, and a list that became an object, are texts with their sizes (`[3 elements]`). An
 * element that its member `identity` tells has this member as its own value.
 */
export function compareValues(from: unknown, to: unknown, identity?: string): ComparedValues {
  if (!isContainer(from) && !isContainer(to)) {
    return { from: from as StateLeaf, to: to as StateLeaf, members: [] };
  }
  const [olds, news] = [elementsOf(from), elementsOf(to)];
  const { pairs, note } = alignLists(olds, news);
  const elements = pairs.map((pair) => ({ ...pair, name: pair.step.replace('.', '') }));
  const members = [...elements, ...objectPairs(from, to)];
  if (identity !== undefined) {
    const own = (side: unknown) => memberOf(side, identity) as StateLeaf;
    const others = members.filter(({ name }) => name !== identity);
    return { from: own(from), to: own(to), members: others };
  }
  const [was, is] = [leafOf(from), leafOf(to)];
  if (isFilled(from) && isFilled(to) && Array.isArray(from) !== Array.isArray(to)) {
    const told = members.map((member) => ({ ...member, isTold: true }));
    return { from: sizeText(from), to: sizeText(to), members: told };
  }
  if (note !== undefined) return { from: sizeText(olds), to: sizeText(news, note), members };
  // The text `[]` beside an empty list.
  if (was === is && isContainer(from) !== isContainer(to)) {
    return { from: quoted(from, was), to: quoted(to, is), members };
  }
  return { from: was, to: is, members };
}

const elementsOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const quoted = (value: unknown, leaf: StateLeaf) =>
  typeof value === 'string' ? JSON.stringify(value) : leaf;

function sizeText(container: object, note?: string): string {
  const isList = Array.isArray(container);
  const size = counted(sizeOf(container), isList ? 'element' : 'member');
  const text = note === undefined ? size : `${size}, ${note}`;
  return isList ? `[${text}]` : `{${text}}`;
}

function objectPairs(from: unknown, to: unknown): MemberPair[] {
  const names = new Set([from, to].flatMap((side) => (isObject(side) ? Object.keys(side) : [])));
  return [...names].sort().map((name) => {
    const step = /^$|[.[\]"]/.test(name) ? `[${JSON.stringify(name)}]` : `.${name}`;
    const [was, is] = [memberOf(from, name), memberOf(to, name)];
    return { name, step, from: was, to: is, isTold: false };
  });
}

/**
 * The leaves that differ between two states, see `compareStates`; `null` equals absent. The first
 * `maxFields` are kept. `truncated` is also true if a text was cut to 32 KiB, or if a leaf was left
 * out because its path has over 1,024 characters.
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
    if (isFull || path.length > pathCharactersMax) truncated = true;
    else changes.set(path, { from: cut(from), to: cut(to) });
    return !isFull;
  };
  compareStates(before, after, take);
  // fromEntries defines members; assignment would call the `__proto__` setter.
  return { diff: Object.fromEntries(changes), truncated };
}

/** A container with members is not a leaf; as a leaf it counts as absent. */
function leafOf(value: unknown): StateLeaf {
  if (!isContainer(value)) return value as StateLeaf;
  if (isFilled(value)) return undefined;
  return Array.isArray(value) ? '[]' : '{}';
}

// Own members only: `constructor` and `__proto__` are inherited by every object.
function memberOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

function sizeOf(container: object): number {
  return Array.isArray(container) ? container.length : Object.keys(container).length;
}

function isFilled(value: unknown): value is object {
  return isContainer(value) && sizeOf(value) > 0;
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
