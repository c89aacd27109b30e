import type { EventFilter, FacetName, ShownEvent, ValueFilter } from '@indelible/protocol';
import { facetNames, uuidTimeMs } from '@indelible/protocol';

/** Whether an event is one that a list under this filter has: the service does the same in SQL. */
export function eventMatches(event: ShownEvent, filter: EventFilter): boolean {
  const timeMs = uuidTimeMs(event.uuid);
  if (filter.from !== undefined && timeMs < filter.from) return false;
  if (filter.to !== undefined && timeMs >= filter.to) return false;
  return facetNames.every((facet) => facetMatches(valuesOf[facet](event), filter[facet]));
}

function facetMatches(values: readonly string[], filter: ValueFilter | undefined): boolean {
  if (filter === undefined) return true;
  const has = (value: string) => values.includes(value);
  return (filter.any.length === 0 || filter.any.some(has)) && !filter.none.some(has);
}

const valuesOf: Record<FacetName, (event: ShownEvent) => string[]> = {
  user: ({ actorId, actorEmail }) =>
    actorEmail === null ? [actorId] : [actorId, actorEmail.toLowerCase()],
  action: ({ action }) => [action],
  resource: ({ resourceType }) => [resourceType],
  resourceId: ({ resourceId }) => [resourceId],
  crossTenant: ({ crossTenant }) => [String(crossTenant)],
  category: ({ category }) => [category],
};
