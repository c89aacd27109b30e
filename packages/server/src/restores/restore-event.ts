import { eventIdFromUuid, type Outcome, typeId } from '@indelible/protocol';
import { whoRequested } from '../access/requester.ts';
import type { OwnEvent, Whence } from '../own-event.ts';
import { restoreIdPrefix } from './restore-call.ts';
import type { RestoreOutcome, RestoreRequest } from './store.ts';

const outcomes: { [Status in RestoreOutcome['status']]: Outcome } = {
  applied: 'success',
  refused: 'denied',
  failed: 'failure',
};

/**
 * The log's records of a restore: one event for the request and one for its outcome, both of the
 * resource, in the name of the requester. The states remain in the restored event.
 */
export function restoreEvent(
  request: RestoreRequest,
  outcome: RestoreOutcome | { status: 'requested'; reason: null },
  whence?: Whence,
): OwnEvent {
  const { resourceType, resourceId, resourceName } = request;
  return {
    ...whoRequested(request, whence),
    action: 'restore',
    ...(outcome.status === 'requested' ? {} : { outcome: outcomes[outcome.status] }),
    resource: { type: resourceType, id: resourceId, name: resourceName },
    diff: {},
    after: {
      restoreId: typeId(restoreIdPrefix, request.id),
      eventId: eventIdFromUuid(request.eventUuid),
      to: request.target,
      ...(request.fields && { fields: request.fields }),
      outcome: outcome.status,
      reason: outcome.reason,
    },
  };
}
