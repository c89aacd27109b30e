import type { ListQuery } from '@indelible/protocol';
import { getEvent, listEvents, type visibility } from '../events/index.ts';
import type { TenantTx } from '../postgres/index.ts';

type Visible = NonNullable<Awaited<ReturnType<typeof visibility>>>;

const lookedAtMax = 20;

/**
 * The state a resource was last recorded in by a producer, as canonical JSON text; null when it was
 * deleted then, undefined when its latest events do not say.
 */
export async function currentState(
  tx: TenantTx,
  visible: Visible,
  { resourceType, resourceId }: { resourceType: string; resourceId: string },
): Promise<string | null | undefined> {
  const only = (value: string) => ({ any: [value], none: [] });
  const query: ListQuery = {
    filter: { resource: only(resourceType), resourceId: only(resourceId) },
    sort: 'timestamp',
    order: 'desc',
    limit: lookedAtMax,
    include: { total: false, state: false },
  };
  const { rows } = await listEvents(tx, query, visible, null);
  // What the service recorded itself (restores, above all) has states of its own kind.
  const latest = rows.find(
    ({ hasState, recordedByKind }) => hasState && recordedByKind !== 'service',
  );
  if (!latest) return undefined;
  const event = await getEvent(tx, latest.uuid, [...visible.classes], visible.oldest);
  return event?.after;
}
