import type { State } from '@indelible/client';
import { diffStates, type Scalar } from '@indelible/protocol';

/** A field of two states, by its dotted path. */
export interface FieldPair {
  field: string;
  left: Scalar;
  right: Scalar;
  same: boolean;
}

const fieldsMax = 2_000;

/** All leaves of two states, each with its value on either side; absent = null. */
export function fieldPairs(left: State | null, right: State | null): FieldPair[] {
  // Compared with an empty state: the same paths as in every diff of the service.
  const of = (state: State | null) => diffStates(null, state, fieldsMax).diff;
  const [lefts, rights] = [of(left), of(right)];
  const fields = [...new Set([...Object.keys(lefts), ...Object.keys(rights)])];
  return fields
    .map((field) => {
      const [from, to] = [lefts[field]?.to ?? null, rights[field]?.to ?? null];
      return { field, left: from, right: to, same: from === to };
    })
    .sort((a, b) => collator.compare(a.field, b.field));
}

const collator = new Intl.Collator('en', { numeric: true });
