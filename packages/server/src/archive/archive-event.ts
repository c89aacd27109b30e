import type { CommittedEvent } from '@indelible/protocol';
import type { OwnEvent } from '../own-event.ts';

const nobody = '00000000-0000-0000-0000-000000000000';

/** What a tenant's log says about a segment of it that went into the archive. */
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
    actor: { id: nobody, email: null, role: 'system', ip: null, userAgent: null },
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
