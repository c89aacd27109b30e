import {
  clockSlackMs,
  type EventFilter,
  facetNames,
  facetOf,
  isServiceRecord,
  only,
  recordsQuery,
  typeId,
  valuesOf,
} from '@indelible/protocol';
import type { Visibility } from '../events/filter-sql.store.ts';
import type { ListedRow } from '../events/listed-row.ts';
import { readBodies } from '../events/proof.ts';
import { type FrozenFilter, frozenFilter, type SavedSearch } from './store.ts';

export const searchIdPrefix = 'srch_';

/** Whether an erasure that the log records since may have changed the result of the search. */
export async function erasedSince(visible: Visibility, search: SavedSearch): Promise<boolean> {
  if ((await rewriting(visible, search)) !== null) return true;
  const compared = comparedSegments(frozenFilter(search.filters));
  if (compared.size === 0) return false;
  for await (const row of recordsSince(visible, search, [
    'erase',
    'audit_log',
    visible.tx.tenantId,
  ])) {
    if (isServiceRecord(row) && compared.has(JSON.parse(row.after ?? '{}').segment)) return true;
  }
  return false;
}

/** The id of the record that an erasure rewrote the search to this query; null without one. */
export async function rewriting(visible: Visibility, search: SavedSearch): Promise<string | null> {
  const stored = { id: typeId(searchIdPrefix, search.id), filters: JSON.parse(search.filters) };
  let last: string | null = null;
  for await (const row of recordsSince(visible, search, ['update', 'search', search.id])) {
    if (row.recordedByKind === 'service') last = recordsQuery(row, stored) ? row.uuid : null;
  }
  return last;
}

/** Segments without which an event may no longer match, although the query is the same. */
function comparedSegments(filter: FrozenFilter): Set<string> {
  return new Set(
    facetNames.flatMap((facet) => {
      const { heldIn, external } = facetOf(facet);
      const segments = valuesOf(filter, facet).flatMap(heldIn);
      // The erasure of a person rewrites the queries that have their addresses.
      return external === 'actor' ? segments.filter((name) => name !== 'identity') : segments;
    }),
  );
}

/** The events with this action and resource behind the checkpoint of the search, oldest first. */
async function* recordsSince(
  visible: Visibility,
  { createdAtMs, checkpointSize }: SavedSearch,
  [action, type, id]: readonly [action: string, type: string, id: string],
): AsyncGenerator<ListedRow> {
  const filter: EventFilter = {
    from: createdAtMs - clockSlackMs,
    action: only(action),
    resource: only(type),
    resourceId: only(id),
  };
  for (let after: string | null = null, more = true; more; ) {
    const page = await readBodies(visible, after, { filter, limit: 200 });
    yield* page.rows.filter(({ sequence }) => sequence >= checkpointSize);
    after = page.rows.at(-1)?.uuid ?? null;
    more = page.more;
  }
}
