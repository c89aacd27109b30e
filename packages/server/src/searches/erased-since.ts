import {
  clockSlackMs,
  type EventFilter,
  facetNames,
  facetOf,
  isServiceRecord,
  only,
  valuesOf,
} from '@indelible/protocol';
import type { Visibility } from '../events/filter-sql.store.ts';
import type { ListedRow } from '../events/listed-row.ts';
import { readBodies } from '../list/proof.ts';
import { type FrozenFilter, frozenFilter, type SavedSearch } from './store.ts';

export const searchIdPrefix = 'srch_';

/** Whether an erasure that the log records since may have changed the result of the search. */
export async function erasedSince(visible: Visibility, search: SavedSearch): Promise<boolean> {
  const compared = comparedSegments(frozenFilter(search.filters));
  if (compared.size === 0) return false;
  for await (const row of erasuresSince(visible, search)) {
    if (isServiceRecord(row) && compared.has(JSON.parse(row.after ?? '{}').segment)) return true;
  }
  return false;
}

/** Segments without which an event may no longer match, although the query is the same. */
function comparedSegments(filter: FrozenFilter): Set<string> {
  return new Set(
    facetNames.flatMap((facet) => {
      const segments = valuesOf(filter, facet).flatMap(facetOf(facet).heldIn);
      // The erasure of a person deletes the queries that have their addresses. But it also empties
      // the addresses of others, on whose behalf the person acted.
      return facet === 'user' ? segments.filter((name) => name !== 'identity') : segments;
    }),
  );
}

/** The records of erasures behind the checkpoint of the search, oldest first. */
async function* erasuresSince(
  visible: Visibility,
  { createdAtMs, checkpointSize }: SavedSearch,
): AsyncGenerator<ListedRow> {
  const filter: EventFilter = {
    from: createdAtMs - clockSlackMs,
    action: only('erase'),
    resource: only('audit_log'),
    resourceId: only(visible.tx.tenantId),
  };
  for (let after: string | null = null, more = true; more; ) {
    const page = await readBodies(visible, after, { filter, limit: 200 });
    yield* page.rows.filter(({ sequence }) => sequence >= checkpointSize);
    after = page.rows.at(-1)?.uuid ?? null;
    more = page.more;
  }
}
