import { createCatalogue } from '@indelible/protocol';
import { createRandom } from '../../../server/src/crypto/random.ts';
import { prepareOwn } from '../../../server/src/events/own-events.store.ts';
import { readServiceId } from '../../../server/src/events/store.ts';
import { createUuidSource } from '../../../server/src/events/uuid-source.ts';
import type { OwnEvent } from '../../../server/src/own-event.ts';
import type { TestService } from '../../../server/src/testing/service.ts';
import { sha } from '../verify/hashing.ts';

const nobody = '00000000-0000-0000-0000-000000000000';

/** Records an event as the service's own, as its jobs do. */
export async function recordOwn(
  { app, db, clock }: TestService,
  tenantId: string,
  event: Omit<OwnEvent, 'actor'>,
): Promise<void> {
  const random = createRandom();
  const deps = {
    sha,
    random,
    newUuid: createUuidSource(random),
    catalogue: createCatalogue(),
    now: () => clock.now,
    serviceId: await readServiceId(db.writer),
  };
  const actor = { id: nobody, email: null, role: 'system', ip: null, userAgent: null };
  await app.recorder.record([prepareOwn(deps, tenantId, { actor, ...event })], null);
}
