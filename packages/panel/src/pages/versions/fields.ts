import type { State } from '@indelible/client';
import { compareStates, type StateLeaf } from '@indelible/protocol';

/** A field of two states, by its dotted path; undefined: absent. */
export interface FieldPair {
  /** Among all fields of the two states: two of them may have one path. */
  position: number;
  field: string;
  left: StateLeaf;
  right: StateLeaf;
  same: boolean;
}

const fieldsMax = 2_000;

/**
 * The leaves of two states, with the paths and in the order of every diff of the service. A removed
 * element of a list may have the path of one that is still there.
 */
export function fieldPairs(left: State | null, right: State | null): FieldPair[] {
  const pairs: FieldPair[] = [];
  compareStates(left, right, (field, from, to) => {
    pairs.push({ position: pairs.length, field, left: from, right: to, same: from === to });
    return pairs.length < fieldsMax;
  });
  return pairs;
}
