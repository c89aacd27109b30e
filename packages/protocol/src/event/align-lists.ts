/**
 * An element of a list before and after a change; undefined: there was none. `index` is that of the
 * new list, of a removed element that of the old one.
 */
export interface ElementPair {
  index: number;
  from: unknown;
  to: unknown;
  /** Whether the two were found by their value. */
  isEqual: boolean;
}

type List = readonly unknown[];

/** Comparisons that may still be made for one pair of states: bounds the cost of all its lists. */
export interface Effort {
  left: number;
}

/**
 * Which elements of two lists are the same one: objects by their `id`, else `key`, other elements
 * by their value, in the longest common subsequence (Myers 1986). Between those, elements replace
 * one another in order. By index if that would give two elements one index; almost so if `effort`
 * does not suffice.
 */
export function alignLists(from: List, to: List, effort: Effort): ElementPair[] {
  if (from.length + to.length > elementsMax) return byIndex(from, to);
  const pairs = fillGaps(from, to, commonElements(from, to, effort));
  return hasOnePath(pairs, effort) ? pairs : byIndex(from, to);
}

const elementsMax = 10_000;
// Further ones cost their square, and a list that differs more reads no better for it.
const editsMax = 200;

type Match = readonly [from: number, to: number];

function commonElements(from: List, to: List, effort: Effort): Match[] {
  // By number of edits, then by diagonal (index before minus index after): how far they lead.
  const rounds: number[][] = [];
  for (let edits = 0; edits <= editsMax && effort.left > 0; edits++) {
    const round: number[] = [];
    rounds.push(round);
    for (let at = 0; at <= edits; at++) {
      const diagonal = 2 * at - edits;
      let x = beginOf(rounds[edits - 1], at);
      while (x < from.length && x - diagonal < to.length) {
        if (!isSame(from[x], to[x - diagonal], effort)) break;
        x += 1;
      }
      round.push(x);
      if (x >= from.length && x - diagonal >= to.length) return traced(rounds, x, at);
    }
  }
  return [];
}

/** Where a diagonal is entered from the former round: by an added element, or by a removed one. */
function beginOf(former: readonly number[] | undefined, at: number): number {
  if (former === undefined) return 0;
  const [removed = -1, added = -1] = [former[at - 1], former[at]];
  return added > removed ? added : removed + 1;
}

function traced(rounds: readonly number[][], x: number, last: number): Match[] {
  const matches: Match[] = [];
  let [end, at] = [x, last];
  for (let edits = rounds.length - 1; edits >= 0; edits--) {
    const former = rounds[edits - 1];
    const begin = beginOf(former, at);
    while (end > begin) {
      end -= 1;
      matches.push([end, end - (2 * at - edits)]);
    }
    const isAdded = former?.[at] === begin;
    if (!isAdded) [end, at] = [begin - 1, at - 1];
  }
  return matches.reverse();
}

function fillGaps(from: List, to: List, matches: Match[]): ElementPair[] {
  const pairs: ElementPair[] = [];
  let [x, y] = [0, 0];
  for (const [nextX, nextY] of [...matches, [from.length, to.length] as const]) {
    while (x < nextX || y < nextY) {
      const [isThere, isHere] = [x < nextX, y < nextY];
      const pair = { from: isThere ? from[x] : undefined, to: isHere ? to[y] : undefined };
      pairs.push({ index: isHere ? y : x, ...pair, isEqual: false });
      if (isThere) x += 1;
      if (isHere) y += 1;
    }
    if (x === from.length && y === to.length) break;
    pairs.push({ index: y, from: from[x], to: to[y], isEqual: idOf(from[x]) === undefined });
    [x, y] = [x + 1, y + 1];
  }
  return pairs;
}

/** Whether no removed element has the index of another one that changed. */
function hasOnePath(pairs: readonly ElementPair[], effort: Effort): boolean {
  const removed = new Set(pairs.filter(({ to }) => to === undefined).map(({ index }) => index));
  return pairs.every(
    ({ index, from, to, isEqual: known }) =>
      to === undefined || !removed.has(index) || known || isEqual(from, to, effort),
  );
}

function byIndex(from: List, to: List): ElementPair[] {
  const longer = from.length > to.length ? from : to;
  return longer.map((_, index) => ({ index, from: from[index], to: to[index], isEqual: false }));
}

function isSame(one: unknown, other: unknown, effort: Effort): boolean {
  const [id, otherId] = [idOf(one), idOf(other)];
  if (id === undefined || otherId === undefined) return isEqual(one, other, effort);
  effort.left -= 1;
  return id === otherId;
}

function idOf(element: unknown): unknown {
  if (!isContainer(element) || Array.isArray(element)) return undefined;
  const own = (name: string) => (Object.hasOwn(element, name) ? element[name] : null);
  const id = own('id') ?? own('key');
  return typeof id === 'string' || typeof id === 'number' ? id : undefined;
}

/** False also when the effort is used up. */
function isEqual(one: unknown, other: unknown, effort: Effort): boolean {
  effort.left -= 1;
  if (one === other) return true;
  if (effort.left < 0 || !isContainer(one) || !isContainer(other)) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const [names, otherNames] = [Object.keys(one), Object.keys(other)];
  effort.left -= 5 * (names.length + otherNames.length);
  if (names.length !== otherNames.length) return false;
  return names.every(
    (name) => Object.hasOwn(other, name) && isEqual(one[name], other[name], effort),
  );
}

function isContainer(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
