import {
  eventIdFromUuid,
  formatTimestamp,
  type Keeps,
  retentionCutoff,
  uuidTimeMs,
  type WarningCode,
} from '@indelible/protocol';
import type { OwnEvent } from '../own-event.ts';
import { type OwnEventDeps, prepareOwn } from './own-events.store.ts';
import type { PreparedEvent } from './prepared-event.ts';
import type { Notice } from './record-queue.ts';

/** An operator's event of the past that is hidden sooner is told by a record of the present. */
const seenMsMin = 30 * 86_400_000;

/**
 * What tells of an operator's event that is put so far into the past that its plan would soon hide
 * it; null for other events.
 */
export function noticeOf(
  deps: OwnEventDeps,
  { event, warnings }: { event: PreparedEvent; warnings: readonly WarningCode[] },
): Notice | null {
  if (!event.crossTenant || !warnings.includes('backdated')) return null;
  const isSoonHidden = (keeps: Keeps) =>
    uuidTimeMs(event.uuid) < retentionCutoff(keeps, deps.now() + seenMsMin);
  return (keeps) =>
    isSoonHidden(keeps) ? prepareOwn(deps, event.tenantId, backdatedEvent(event)) : null;
}

/**
 * The service's own record that it has taken the event. A plan counts from the time of an event, so
 * an operator could choose one that is hidden a moment later. This record is of now.
 */
function backdatedEvent(event: PreparedEvent): OwnEvent {
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
