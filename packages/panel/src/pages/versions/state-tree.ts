import type { State } from '@indelible/client';
import { compareValues, type MemberPair, maskText, type StateLeaf } from '@indelible/protocol';

/** A member of two states: a value, an object or a list, on either side. */
export interface StateNode {
  /** Its position at each level, such as `2.0.1`: elements of a list may share a name. */
  key: string;
  name: string;
  /** Undefined: absent; or a container, unless it has what its members do not tell. */
  left: StateLeaf;
  right: StateLeaf;
  /** How many of its values differ. */
  differing: number;
  members: StateNode[];
}

/** Two states as one tree, with the members and in the order of every diff of the service. */
export function stateTree(left: State | null, right: State | null): StateNode[] {
  const grow = (prefix: string, pairs: MemberPair[]): StateNode[] =>
    pairs.map((pair, position) => node(`${prefix}${position}`, pair));
  const node = (key: string, pair: MemberPair): StateNode => {
    const { from, to, members: pairs } = compareValues(pair.from, pair.to, pair.identity);
    const members = grow(`${key}.`, pairs);
    const differing = Number(from !== to) + differingIn(members);
    return { key, name: pair.name, left: from, right: to, differing, members };
  };
  return grow('', compareValues(left, right).members);
}

export function differingIn(nodes: readonly StateNode[]): number {
  return nodes.reduce((sum, { differing }) => sum + differing, 0);
}

/** The nodes to show, each before its members, with the number of those it lies in. */
export function visibleNodes(
  nodes: readonly StateNode[],
  isOpen: (node: StateNode) => boolean,
  onlyDifferences: boolean,
  depth = 0,
): { node: StateNode; depth: number }[] {
  return nodes
    .filter(({ differing }) => !onlyDifferences || differing > 0)
    .flatMap((node) => [
      { node, depth },
      ...(isOpen(node) ? visibleNodes(node.members, isOpen, onlyDifferences, depth + 1) : []),
    ]);
}

/** Whether a value holds what the service has masked, so that it cannot be restored. */
export function holdsMasked(value: unknown): boolean {
  return (JSON.stringify(value) ?? '').includes(JSON.stringify(maskText));
}
