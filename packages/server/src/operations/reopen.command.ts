import { type Environment, readConfig } from '../config.ts';
import { sha } from '../crypto/sha256.ts';
import { type ReopenDeps, type ReopenedLog, reopenLogs } from '../log/reopen.ts';
import { reopeningSigner } from '../log/reopening-key.ts';
import { openObjectStore } from '../objects/open-store.ts';
import { runAsOwner, withMigratedSession } from '../postgres/run-as-owner.ts';
import { requireNoneServing } from '../postgres/serving-lock.ts';
import { recordOwnIn } from '../record/own-events.store.ts';

/**
 * `indelible log reopen`: recording continues after the database was rewound, see `reopenLogs`.
 * Runs as the owner: of DATABASE_OWNER_URL, or of the embedded PostgreSQL, which no service may be
 * using. Atomic. Throws an Error with a sentence for the operator.
 */
export function reopenLog(
  env: Environment,
  changes: Partial<ReopenDeps> = {},
): Promise<ReopenedLog[]> {
  const config = readConfig(env);
  const reopen = (ownerUrl: string) =>
    withMigratedSession(ownerUrl, async (owner) => {
      const objects = openObjectStore(config.objectStoreUrl);
      const { now } = owner;
      const recordOwn = await recordOwnIn(owner, config.catalogue, now);
      const deps = { sha, now, objects, recordOwn, openSigner: reopeningSigner(config) };
      return owner.transaction(async (tx) => {
        await requireNoneServing(tx);
        return reopenLogs(tx, { ...deps, ...changes });
      });
    });
  return runAsOwner(config, 'the logs cannot be reopened', reopen, { alone: true });
}
