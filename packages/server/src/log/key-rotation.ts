import { createHash } from 'node:crypto';
import { importedEventUuid, nilUuid } from '@indelible/protocol';
import type { Signer } from '../crypto/signer.ts';
import { byItself, type OwnEvent } from '../own-event.ts';
import type { Parts } from '../parts.ts';
import { type WriterTx, write } from '../postgres/db.ts';
import { listTenants } from '../tenants/store.ts';
import { signingKeyAnnounced, takeRound, useSigningKey } from './checkpoint.store.ts';

export interface KeyRotationDeps extends Pick<Parts, 'db' | 'now' | 'recordQueued'> {
  signer: Signer;
  /** Whether the operator has named the key: a default key replaces no other. */
  isNamed: boolean;
}

/** This process must not sign with its key; the message tells the operator what to do. */
export class SigningKeyRefused extends Error {}

const tenantsAtOnce = 200;

/**
 * Returns the function that activates the signer's key and, if it replaced another, records that in
 * every tenant's log. It throws if some logs could not get the record, and may be called again: the
 * event's id depends on key and tenant, so no log gets it twice. Throws SigningKeyRefused for a
 * default key while another one is in use: processes that each generated a key would replace each
 * other's at every start.
 */
export function keyAnnouncer(deps: KeyRotationDeps): () => Promise<void> {
  const { db, recordQueued, signer } = deps;
  const told = new Set<string>();
  let use: Awaited<ReturnType<typeof useSigningKey>> | undefined;
  return async () => {
    const publicKey = await signer.publicKey();
    // Only once: an older process must not take the key back from one with a newer key.
    use ??= await write(db, (tx) => useKey(tx, publicKey, deps));
    const { beganMs, unannounced } = use;
    if (!unannounced) return;
    const tell = async (id: string) => {
      if (told.has(id)) return;
      await recordQueued(id, rotation(publicKey, beganMs), rotationId(publicKey, id, beganMs));
      told.add(id);
    };
    // A log that cannot be written now does not prevent the record in others.
    const failures: unknown[] = [];
    for (let from: string | undefined = nilUuid; from !== undefined; ) {
      const first: string = from;
      const tenants = await write(db, (tx) => listTenants(tx, first, tenantsAtOnce + 1));
      const page = tenants.slice(0, tenantsAtOnce);
      const outcomes = await Promise.allSettled(page.map(({ id }) => tell(id)));
      for (const outcome of outcomes) {
        if (outcome.status === 'rejected') failures.push(outcome.reason);
      }
      from = tenants[tenantsAtOnce]?.id;
    }
    if (failures.length > 0) throw failures[0];
    await write(db, (tx) => signingKeyAnnounced(tx, publicKey));
  };
}

async function useKey(tx: WriterTx, publicKey: Uint8Array, { now, isNamed }: KeyRotationDeps) {
  // Until the transaction ends no other process can activate a key.
  const keyInUse = (await takeRound(tx, true))?.keyInUse ?? null;
  if (!isNamed && keyInUse !== null && Buffer.compare(keyInUse, publicKey) !== 0) {
    throw new SigningKeyRefused(
      'the logs are signed with another key than signing-key.pem in DATA_DIR. A key that ' +
        'the service made itself does not replace the key in use: set SIGNING_KEY_FILE to ' +
        'that key in every process. If it is lost, set SIGNING_KEY_FILE to signing-key.pem, ' +
        'which rotates the key',
    );
  }
  return useSigningKey(tx, publicKey, now());
}

function rotation(publicKey: Uint8Array, beganMs: number): OwnEvent {
  return {
    actor: byItself,
    action: 'update',
    resource: { type: 'signing_key', id: nilUuid, name: 'Checkpoint signing key' },
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
