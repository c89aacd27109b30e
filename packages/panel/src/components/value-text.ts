import { readsAsOther, revealed, type StateLeaf } from '@indelible/protocol';

/** A value of a change as it is read: a text that looks like a value of another type is quoted. */
export function valueText(value: StateLeaf, other: StateLeaf): string {
  const isUnclear = typeof value === 'string' && typeof other !== 'string' && readsAsOther(value);
  return revealed(isUnclear ? JSON.stringify(value) : String(value));
}
