import { counted, withCommas } from './limits.ts';

/** An element of a list before and after a change. */
export interface ElementPair {
  /** How a path tells the element: `[carl]`; or `.2`, its position. */
  step: string;
  /** Undefined: there was none. */
  from: unknown;
  to: unknown;
  /** The member that says which element it is, if one does. */
  identity?: string;
  /** Whether a diff need not look into it: the two are equal, or `note` tells the difference. */
  isTold: boolean;
}

/** The elements of two lists, each once. */
export interface AlignedLists {
  pairs: ElementPair[];
  /** What the elements do not tell: another order, or how many differ where they are too many. */
  note?: string;
}

type List = readonly unknown[];

/** What names an element in a path. */
type Label = string | number | boolean | null;

/** Longer texts would make paths that cannot be read. */
const labelLengthMax = 200;
/** Two lists with more elements together are not compared: it would hold up other calls. */
const comparedMax = 20_000;
/** More elements than these, known by their position alone, are counted and not listed. */
const changedPositionsMax = 100;

/**
 * Which elements of two lists are the same: objects by their `id`, else `key`, else `name`, if all
 * have it and no two share it; scalars by their value. Other elements are the same if they are
 * equal; those that are left are told by their position. Takes linear time.
 */
export function alignLists(from: List, to: List): AlignedLists {
  if (from.length + to.length > comparedMax) return alignLong(from, to);
  const both = [...from, ...to];
  const identity = ['id', 'key', 'name'].find(
    (name) => both.every((element) => isLabel(ownOf(element, name))) && areUnique(name, from, to),
  );
  if (identity !== undefined) return byIdentity(identity, from, to);
  return both.every((element) => element === null || isLabel(element))
    ? byValue(from as readonly Label[], to as readonly Label[])
    : byPosition(from, to);
}

/** Elements of a list that came or went as a whole are told by their position. */
function alignLong(from: List, to: List): AlignedLists {
  const sides = (element: unknown) =>
    from.length === 0 ? { from: undefined, to: element } : { from: element, to: undefined };
  if (from.length === 0 || to.length === 0) {
    const pairs = [...from, ...to].map((each, at) => {
      return { step: `.${at}`, ...sides(each), isTold: false };
    });
    return { pairs };
  }
  const isEqual = JSON.stringify(from) === JSON.stringify(to);
  return isEqual ? { pairs: [] } : { pairs: [], note: 'not compared' };
}

function ownOf(element: unknown, name: string): unknown {
  const isObject = typeof element === 'object' && element !== null && !Array.isArray(element);
  return isObject && Object.hasOwn(element, name)
    ? (element as Record<string, unknown>)[name]
    : undefined;
}

/** Whether it may stand in a path. U+0000 is in texts that masking has yet to replace. */
function isLabel(value: unknown): value is Label {
  if (typeof value !== 'string') return typeof value === 'number' || typeof value === 'boolean';
  return value.length <= labelLengthMax && !value.includes('\0');
}

function areUnique(name: string, ...lists: List[]): boolean {
  return lists.every((list) => new Set(list.map((each) => ownOf(each, name))).size === list.length);
}

/** How a path tells a value: texts that would read as another value or path are in quotes. */
function labelOf(value: Label): string {
  const isQuoted = typeof value === 'string' && (readsAsOther(value) || /["[\]]/.test(value));
  return `[${isQuoted ? JSON.stringify(value) : value}]`;
}

/** Whether a text reads like a number, a boolean, `null` or nothing. */
export function readsAsOther(text: string): boolean {
  return /^(true|false|null)$/.test(text) || !Number.isNaN(Number(text));
}

function byIdentity(identity: string, from: List, to: List): AlignedLists {
  const label = (element: unknown) => labelOf(ownOf(element, identity) as Label);
  const [before, after] = [from.map(label), to.map(label)];
  const olds = new Map(before.map((step, at) => [step, from[at]]));
  const news = new Map(after.map((step, at) => [step, to[at]]));
  const pairs = inOrder(before, after).map((step): ElementPair => {
    const sides = { from: olds.get(step), to: news.get(step) };
    return { step, ...sides, identity, isTold: false };
  });
  return noted(pairs, before, after);
}

/** Equal scalars are one pair; it has their numbers, where only these differ. */
function byValue(from: readonly Label[], to: readonly Label[]): AlignedLists {
  const [before, after] = [from.map(labelOf), to.map(labelOf)];
  const [olds, news] = [countsOf(before), countsOf(after)];
  const values = new Map(before.map((step, at) => [step, from[at]]));
  for (const [at, step] of after.entries()) values.set(step, to[at]);
  const pairs = inOrder(before, after).map((step): ElementPair => {
    const [was, is] = [olds.get(step) ?? 0, news.get(step) ?? 0];
    const value = values.get(step);
    // A null that went would be nothing that became nothing.
    const isNumber = was !== is && (Math.max(was, is) > 1 || value === null);
    const side = (count: number) => (isNumber ? counted(count, 'time') : value);
    return {
      step,
      from: was === 0 ? undefined : side(was),
      to: is === 0 ? undefined : side(is),
      isTold: was === is,
    };
  });
  return noted(pairs, before, after);
}

/** Each step of either list once: in the order of the new one, removed ones where they stood. */
function inOrder(olds: string[], news: string[]): string[] {
  const young = new Set(news);
  const steps = new Set<string>();
  let at = 0;
  const addRemoved = () => {
    for (let old = olds[at]; old !== undefined; old = olds[at]) {
      if (young.has(old) && !steps.has(old)) return;
      steps.add(old);
      at += 1;
    }
  };
  for (const step of news) {
    addRemoved();
    steps.add(step);
  }
  addRemoved();
  return [...steps];
}

function byPosition(from: List, to: List): AlignedLists {
  const textOf = (element: unknown) => JSON.stringify(element);
  const [before, after] = [from.map(textOf), to.map(textOf)];
  const oldOf = equalElements(before, after);
  const kept = new Set(oldOf.values());
  const [removed, added] = [from.length - kept.size, to.length - kept.size];
  const isMany = removed > 0 && added > 0 && Math.max(removed, added) > changedPositionsMax;
  const pairs: ElementPair[] = [];
  for (let at = 0; at < Math.max(from.length, to.length); at += 1) {
    const old = kept.has(at) ? undefined : from[at];
    const equal = oldOf.get(at);
    const step = `.${at}`;
    if (equal !== undefined) pairs.push({ step, from: from[equal], to: to[at], isTold: true });
    const young = equal === undefined ? to[at] : undefined;
    if (old !== undefined || young !== undefined) {
      pairs.push({ step, from: old, to: young, isTold: isMany });
    }
  }
  const many = isMany ? [`${withCommas(added)} new or changed`] : [];
  return noted(pairs, before, after, many);
}

/** By the position of an element its position in the old list, if that has an equal one left. */
function equalElements(olds: string[], news: string[]): Map<number, number> {
  const places = new Map<string, number[]>();
  for (const [at, text] of [...olds.entries()].reverse()) {
    const known = places.get(text);
    if (known) known.push(at);
    else places.set(text, [at]);
  }
  const found = news.map((text, at) => [at, places.get(text)?.pop()] as const);
  return new Map(found.filter((pair): pair is [number, number] => pair[1] !== undefined));
}

/** Adds whether elements that both lists have equally often come in another order. */
function noted(
  pairs: ElementPair[],
  olds: string[],
  news: string[],
  notes: string[] = [],
): AlignedLists {
  const [were, are] = [countsOf(olds), countsOf(news)];
  const isKept = (step: string) => were.get(step) === are.get(step);
  const [first, second] = [olds.filter(isKept), news.filter(isKept)];
  if (first.some((step, at) => step !== second[at])) notes.push('in another order');
  return notes.length === 0 ? { pairs } : { pairs, note: notes.join(', ') };
}

function countsOf(steps: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const step of steps) counts.set(step, (counts.get(step) ?? 0) + 1);
  return counts;
}
