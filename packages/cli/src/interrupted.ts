import { existsSync, readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { UsageError } from './io.ts';

/**
 * What an interrupted export wrote to its state file; null if none was interrupted. Throws
 * UsageError if `part`, what it had made, is of an export with other terms.
 */
export function interruptedExport<State extends { terms: object }>(
  part: string,
  stateFile: string,
  terms: State['terms'],
): State | null {
  if (!existsSync(stateFile) && !existsSync(part)) return null;
  const state = readState<State>(stateFile);
  if (state !== null && isDeepStrictEqual(state.terms, { ...terms })) return state;
  throw new UsageError(`${part} belongs to another export; remove it first`);
}

function readState<State>(path: string): State | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return null;
  }
}
