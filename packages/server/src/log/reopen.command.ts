import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, type Environment, readConfig } from '../config.ts';
import { sha } from '../crypto/sha256.ts';
import { openSigner } from '../crypto/signer.ts';
import { recordOwnIn } from '../events/own-events.store.ts';
import { openObjectStore } from '../objects/open-store.ts';
import { runAsOwner, withMigratedSession } from '../postgres/run-as-owner.ts';
import { type ReopenDeps, type ReopenedLog, reopenLogs } from './reopen.job.ts';

export type { ReopenedLog } from './reopen.job.ts';

/**
 * `indelible log reopen`: lets recording go on after the database was rewound,
 * see `reopenLogs`. Runs as the owner: of DATABASE_OWNER_URL, or of the
 * embedded PostgreSQL, which no service may be using. All of it happens or
 * nothing does. Throws an Error whose message is one sentence for the operator.
 */
export function reopenLog(env: Environment): Promise<ReopenedLog[]> {
  const config = readConfig(env);
  const reopen = (ownerUrl: string) =>
    withMigratedSession(ownerUrl, async (owner) => {
      const objects = openObjectStore(config.objectStoreUrl);
      const recordOwn = await recordOwnIn(owner, config.catalogue, Date.now);
      const deps = { sha, now: Date.now, objects, recordOwn, openSigner: reopeningSigner(config) };
      return owner.transaction((tx) => reopenLogs(tx, deps));
    });
  return runAsOwner(config, 'the logs cannot be reopened', reopen, { alone: true });
}

/**
 * What is reopened is signed by the key that signs here. As everywhere, one that was made by
 * default does not replace another; and none is made where the logs are signed already.
 */
export function reopeningSigner({ signingKeyFile, dataDir }: Config): ReopenDeps['openSigner'] {
  return async (keyInUse) => {
    const path = signingKeyFile ?? join(dataDir, 'signing-key.pem');
    const isNamed = signingKeyFile !== null;
    if (!isNamed && !existsSync(path)) return null; // the first start makes it
    const signer = openSigner(path, false);
    const isOther = keyInUse !== null && Buffer.compare(keyInUse, await signer.publicKey()) !== 0;
    if (isNamed || !isOther) return signer;
    throw new Error(
      `${path} is not the key in use, which must sign the reopening: set SIGNING_KEY_FILE ` +
        'to that key',
    );
  };
}
