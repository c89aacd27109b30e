import { createHash } from 'node:crypto';
import { importedEventUuid } from '@indelible/protocol';
import { type Database, write } from '../db.ts';
import type { OwnEvent } from '../own-event.ts';
import type { Signer } from '../signer.ts';
import { listTenants } from '../tenants/store.ts';
import { signingKeyAnnounced, useSigningKey } from './checkpoint.store.ts';

/** Records what the service itself did; the same `uuid` again adds nothing. */
export type RecordSelf = (tenantId: string, event: OwnEvent, uuid?: string) => Promise<void>;

const tenantsAtOnce = 200;
const firstTenant = '00000000-0000-0000-0000-000000000000';

/**
 * Makes a key the one in use and, when it replaced another, records that in every tenant's log. The
 * event's id follows from key and tenant, so a start that was cut off goes on where it stopped.
 */
export async function announceKey(deps: {
  db: Database;
  now: () => number;
  record: RecordSelf;
  signer: Signer;
}): Promise<void> {
  const { db, now, record, signer } = deps;
  const publicKey = await signer.publicKey();
  const { beganMs, unannounced } = await write(db, (tx) => useSigningKey(tx, publicKey, now()));
  if (!unannounced) return;
  for (let from = firstTenant; ; ) {
    const tenants = await write(db, (tx) => listTenants(tx, from, tenantsAtOnce + 1));
    const page = tenants.slice(0, tenantsAtOnce);
    await Promise.all(
      page.map(({ id }) =>
        record(id, rotation(publicKey, beganMs), rotationId(publicKey, id, beganMs)),
      ),
    );
    const next = tenants[tenantsAtOnce];
    if (next === undefined) break;
    from = next.id;
  }
  await write(db, (tx) => signingKeyAnnounced(tx, publicKey));
}

const nobody = '00000000-0000-0000-0000-000000000000';

function rotation(publicKey: Uint8Array, beganMs: number): OwnEvent {
  return {
    actor: { id: nobody, email: null, role: 'system', ip: null, userAgent: null },
    action: 'update',
    resource: { type: 'signing_key', id: nobody, name: 'Checkpoint signing key' },
    after: {
      publicKey: Buffer.from(publicKey).toString('base64'),
      notBefore: new Date(beganMs).toISOString(),
    },
  };
}

function rotationId(publicKey: Uint8Array, tenantId: string, beganMs: number): string {
  const hash = createHash('sha256')
    .update('indelible/key-rotation/v1\n')
    .update(publicKey)
    .update(tenantId);
  return importedEventUuid(beganMs, 0, hash.digest());
}
