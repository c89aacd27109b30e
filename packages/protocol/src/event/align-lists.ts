/**
 * An element of a list before and after a change; undefined: there was none. `index` is that of the
 * new list, of a removed element that of the old one.
 */
interface ElementPair {
  index: number;
  from: unknown;
  to: unknown;
  /** Whether the two are known to be equal. */
  isEqual: boolean;
}

type List = readonly unknown[];

/** What may still be spent on a pair of states: bounds the cost of all its lists. */
export interface Effort {
  /** Of the texts by which elements are compared. */
  characters: number;
  /** Pairs of elements. */
  comparisons: number;
}

/**
 * Which elements of two lists are the same one: objects by their `id`, else `key`, other elements
 * by their value, in the longest common subsequence. Between those, elements replace one another in
 * order. By index if that would give two elements one index, or if `effort` does not suffice.
 */
export function alignLists(from: List, to: List, effort: Effort): ElementPair[] {
  const [olds, news] = [elementsOf(from, effort), elementsOf(to, effort)];
  const matches = effort.characters < 0 ? null : commonElements(olds, news, effort);
  if (matches === null) return byIndex(from, to);
  const pairs = fillGaps(olds, news, matches);
  const removed = new Set(pairs.filter(({ to }) => to === undefined).map(({ index }) => index));
  const isClear = pairs.every(
    ({ index, to, isEqual }) => isEqual || to === undefined || !removed.has(index),
  );
  return isClear ? pairs : byIndex(from, to);
}

interface Element {
  value: unknown;
  /** Equal texts, equal values; objects with their members in another order differ. */
  text: unknown;
  /** What makes it the same element, though it may have changed. */
  identity: unknown;
}

function elementsOf(list: List, effort: Effort): Element[] {
  return list.map((value) => {
    // Their first character tells texts, objects, lists and ids apart.
    const text = typeof value === 'string' ? `"${value}` : textOf(value, effort);
    const id = idOf(value);
    return { value, text, identity: id === undefined ? text : `#${JSON.stringify(id)}` };
  });
}

function textOf(value: unknown, effort: Effort): unknown {
  if (typeof value !== 'object' || value === null || effort.characters < 0) return value;
  const text = JSON.stringify(value);
  effort.characters -= text.length;
  return text;
}

function idOf(element: unknown): unknown {
  if (typeof element !== 'object' || element === null || Array.isArray(element)) return undefined;
  const own = (name: string): unknown =>
    Object.hasOwn(element, name) ? (element as Record<string, unknown>)[name] : null;
  const id = own('id') ?? own('key');
  return typeof id === 'string' || typeof id === 'number' ? id : undefined;
}

/** Indices before and after. */
type Match = readonly [from: number, to: number];

/** The longest common subsequence; null if it would cost too much. */
function commonElements(olds: Element[], news: Element[], effort: Effort): Match[] | null {
  const isSame = (x: number, y: number) => olds[x]?.identity === news[y]?.identity;
  let [start, oldEnd, newEnd] = [0, olds.length, news.length];
  while (start < oldEnd && start < newEnd && isSame(start, start)) start += 1;
  while (start < oldEnd && start < newEnd && isSame(oldEnd - 1, newEnd - 1)) {
    [oldEnd, newEnd] = [oldEnd - 1, newEnd - 1];
  }
  const [rows, columns] = [oldEnd - start, newEnd - start];
  if (rows * columns > effort.comparisons) return null;
  effort.comparisons -= rows * columns;

  // How many are common to what follows each pair of indices.
  const common = new Uint32Array((rows + 1) * (columns + 1));
  const commonFrom = (row: number, column: number) => common[row * (columns + 1) + column] ?? 0;
  for (let row = rows - 1; row >= 0; row -= 1) {
    for (let column = columns - 1; column >= 0; column -= 1) {
      common[row * (columns + 1) + column] = isSame(start + row, start + column)
        ? commonFrom(row + 1, column + 1) + 1
        : Math.max(commonFrom(row + 1, column), commonFrom(row, column + 1));
    }
  }
  const matches: Match[] = Array.from({ length: start }, (_, at) => [at, at]);
  let [row, column] = [0, 0];
  while (row < rows && column < columns) {
    const isMatch = isSame(start + row, start + column);
    if (isMatch) matches.push([start + row, start + column]);
    const isRemoved = commonFrom(row + 1, column) >= commonFrom(row, column + 1);
    if (isMatch || isRemoved) row += 1;
    if (isMatch || !isRemoved) column += 1;
  }
  for (let at = oldEnd; at < olds.length; at += 1) matches.push([at, at - oldEnd + newEnd]);
  return matches;
}

/** Every element, once; those between two matches are paired in order. */
function fillGaps(olds: Element[], news: Element[], matches: Match[]): ElementPair[] {
  const pairs: ElementPair[] = [];
  const add = (index: number, old: Element | undefined, young: Element | undefined) => {
    const isEqual = old?.text === young?.text;
    pairs.push({ index, from: old?.value, to: young?.value, isEqual });
  };
  let [x, y] = [0, 0];
  for (const [nextX, nextY] of [...matches, [olds.length, news.length] as const]) {
    for (; x < nextX && y < nextY; x += 1, y += 1) add(y, olds[x], news[y]);
    for (; x < nextX; x += 1) add(x, olds[x], undefined);
    for (; y < nextY; y += 1) add(y, undefined, news[y]);
    if (x < olds.length && y < news.length) add(y, olds[x], news[y]);
    [x, y] = [x + 1, y + 1];
  }
  return pairs;
}

function byIndex(from: List, to: List): ElementPair[] {
  const longer = from.length > to.length ? from : to;
  return longer.map((_, index) => ({ index, from: from[index], to: to[index], isEqual: false }));
}
