import type { CommittedEvent } from '@indelible/protocol';
import { byItself, type OwnEvent } from '../own-event.ts';

/** The log's record of an archived part. */
export function archiveEvent(
  tenantId: string,
  segment: {
    first: number;
    last: number;
    events: number;
    bytes: number;
    manifestSha256: string;
  },
): OwnEvent {
  const { first, last, events, bytes, manifestSha256 } = segment;
  return {
    actor: byItself,
    action: 'export',
    resource: { type: 'archive', id: tenantId, name: 'Archive' },
    diff: {},
    after: { firstSequence: first, lastSequence: last, events, bytes, manifestSha256 },
  };
}

export function isArchiveRecord(event: CommittedEvent): boolean {
  const { action, resourceType, recordedByKind } = event;
  return action === 'export' && resourceType === 'archive' && recordedByKind === 'service';
}
