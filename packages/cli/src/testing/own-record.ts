import { defaultCatalogue } from '@indelible/protocol';
import type { TestService } from '@indelible/testing/service';
import type { OwnEvent } from '../../../server/src/own-event.ts';
import { openOwnEvents, recordOwnQueued } from '../../../server/src/record/own-events.store.ts';

const nilId = '00000000-0000-0000-0000-000000000000';

/** Records an event as the service itself, as its jobs do. */
export async function recordOwn(
  { app, db, clock }: TestService,
  tenantId: string,
  event: Omit<OwnEvent, 'actor'>,
): Promise<void> {
  const own = await openOwnEvents(db.writer, defaultCatalogue, () => clock.now);
  const actor = { id: nilId, email: null, role: 'system', ip: null, userAgent: null };
  await recordOwnQueued(own, app.groupCommit)(tenantId, { actor, ...event });
}
