import { createMasker, type Diff, defaultMaskedKeys, type JsonObject } from '@indelible/protocol';
import { plainJson } from './plain-json.ts';

/** Any object that can be JSON; `null` and undefined mean that the resource does not exist. */
type StateValue = object | null | undefined;

const defaultMasker = createMasker(defaultMaskedKeys);

/**
 * The diff that the service computes from `before` and `after`: dotted paths, elements of lists
 * aligned and named by index, at most 500 fields, texts cut at 32 KiB, secrets masked (the
 * service's key names and `maskedKeys`). Throws TypeError for values that cannot be JSON.
 */
export function diffOf(
  before: StateValue,
  after: StateValue,
  maskedKeys: readonly string[] = [],
): Diff {
  const isDefault = maskedKeys.length === 0;
  const masker = isDefault ? defaultMasker : createMasker([...defaultMaskedKeys, ...maskedKeys]);
  return masker.diffStates(stateOf(before), stateOf(after)).diff;
}

function stateOf(value: StateValue): JsonObject | null {
  const json = plainJson(value);
  return typeof json === 'object' ? (json as JsonObject | null) : null;
}
