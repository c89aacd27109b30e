import { createMasker, type Diff, defaultMaskedKeys, diffStates } from '@indelible/protocol';
import { plainJson } from './plain-json.ts';

/** Any object that JSON can carry; `null` and undefined are a resource that does not exist. */
type StateValue = object | null | undefined;

const defaultMasker = createMasker(defaultMaskedKeys);

/**
 * The fields that differ between two states, as the service computes them
 * from `before` and `after`: dotted paths, elements of arrays by index, at
 * most 500 fields, texts cut at 32 KiB, secrets masked (the service's own
 * key names and `maskedKeys`). Throws TypeError for what JSON does not have.
 */
export function diffOf(
  before: StateValue,
  after: StateValue,
  maskedKeys: readonly string[] = [],
): Diff {
  const isDefault = maskedKeys.length === 0;
  const masker = isDefault ? defaultMasker : createMasker([...defaultMaskedKeys, ...maskedKeys]);
  return masker.maskDiff(diffStates(stateOf(before), stateOf(after)).diff).diff;
}

function stateOf(value: StateValue): object | null {
  const json = plainJson(value);
  return typeof json === 'object' ? json : null;
}
