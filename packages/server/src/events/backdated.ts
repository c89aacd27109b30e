import {
  eventIdFromUuid,
  formatTimestamp,
  uuidTimeMs,
  type WarningCode,
} from '@indelible/protocol';
import type { RecordAccess } from '../access/index.ts';
import type { OwnEvent } from '../own-event.ts';
import { type Database, readTenant } from '../postgres/index.ts';
import type { PreparedEvent } from './prepared-event.ts';
import { visibility } from './store.ts';

export interface BackdatedDeps {
  db: Database;
  now: () => number;
  recordAccess: RecordAccess;
}

/** An operator's event of the past that is hidden sooner is told by a record of the present. */
const seenMsMin = 30 * 86_400_000;

/**
 * Resolves once the tenant's log tells of an operator's event that was just put so far into the
 * past that its plan would soon hide it; others need no record. May throw `unavailable`.
 */
export async function tellBackdated(
  { db, now, recordAccess }: BackdatedDeps,
  { event, warnings }: { event: PreparedEvent; warnings: readonly WarningCode[] },
): Promise<void> {
  if (!event.crossTenant || !warnings.includes('backdated')) return;
  const look = now() + seenMsMin;
  const visible = await readTenant(db, event.tenantId, (tx) => visibility(tx, look));
  if (visible && event.uuid >= visible.oldest) return;
  await recordAccess(event.tenantId, backdatedNotice(event));
}

/**
 * The service's own record that it has taken the event. A plan counts from the time of an event, so
 * an operator could choose one that is hidden a moment later. This record is of now.
 */
function backdatedNotice(event: PreparedEvent): OwnEvent {
  const { uuid, actorId, actorEmail, actorRole, actorIp, actorUserAgent } = event;
  const { action, resourceType, resourceId, resourceName, recordedById, reason } = event;
  return {
    actor: {
      ...{ id: actorId, email: actorEmail, role: actorRole },
      ...{ ip: actorIp, userAgent: actorUserAgent },
    },
    action: 'backdate',
    resource: { type: resourceType, id: resourceId, name: resourceName },
    diff: {},
    after: {
      eventId: eventIdFromUuid(uuid),
      timestamp: formatTimestamp(uuidTimeMs(uuid)),
      ...{ action, recordedBy: recordedById },
    },
    reason,
  };
}
