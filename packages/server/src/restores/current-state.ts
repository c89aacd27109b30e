import type { ListQuery } from '@indelible/protocol';
import type { Visibility } from '../events/filter-sql.store.ts';
import { listEvents } from '../events/list.store.ts';
import { getEvent } from '../events/store.ts';
import type { TenantTx } from '../postgres/db.ts';

const lookedAtMax = 20;

/**
 * The last state of a resource that a producer recorded, as canonical JSON text; null if its last
 * event deleted it, undefined if its latest events contain no state. A change that was denied or
 * failed left the resource as it was.
 */
export async function currentState(
  tx: TenantTx,
  visible: Visibility,
  { resourceType, resourceId }: { resourceType: string; resourceId: string },
): Promise<string | null | undefined> {
  const only = (value: string) => ({ any: [value], none: [] });
  const query: ListQuery = {
    filter: {
      ...{ resource: only(resourceType), resourceId: only(resourceId) },
      outcome: { any: [], none: ['denied', 'failure'] },
    },
    sort: 'timestamp',
    order: 'desc',
    limit: lookedAtMax,
    include: { total: false, state: false },
  };
  const { rows } = await listEvents(tx, query, visible, null);
  // The service's own records (mainly of restores) have other states.
  const latest = rows.find(
    ({ hasState, recordedByKind }) => hasState && recordedByKind !== 'service',
  );
  if (!latest) return undefined;
  const event = await getEvent(tx, latest.uuid, visible);
  return event?.after;
}
