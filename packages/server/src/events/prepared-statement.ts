import { createHash } from 'node:crypto';
import type { Params } from './filter-sql.store.ts';

// Planning 100 partitions takes longer than reading them, so frequent statements are prepared once
// for each connection. Each plan takes megabytes in each connection, so the number of names is
// limited; one-off queries must not use them up.
const namedShapesMax = 40;
const usesBeforeName = 3;
const countedShapesMax = 1_000;
const names = new Map<string, string>();
const uses = new Map<string, number>();

/** A named statement if it is frequent. */
export function prepared(
  text: string,
  params: Params,
): { name?: string; text: string; values: unknown[] } {
  const name = names.get(text) ?? newName(text);
  return { ...(name === undefined ? {} : { name }), text, values: params.values };
}

function newName(text: string): string | undefined {
  if (names.size >= namedShapesMax) return undefined;
  const count = (uses.get(text) ?? 0) + 1;
  if (count < usesBeforeName) {
    if (uses.size >= countedShapesMax) uses.clear();
    uses.set(text, count);
    return undefined;
  }
  uses.delete(text);
  const name = createHash('sha256').update(text).digest('base64url').slice(0, 24);
  names.set(text, name);
  return name;
}
