import { type Environment, readConfig } from '../config.ts';
import { sha } from '../crypto/sha256.ts';
import { logsToCheck, storedDamage } from '../log/check-log.store.ts';
import { withDatabase } from '../postgres/db.ts';
import { distribute } from '../postgres/distribute.ts';
import { runAsOwner, withMigratedSession } from '../postgres/run-as-owner.ts';

/**
 * `indelible distribute`: shards the database by tenant, see `distribute`. Runs as the owner. Then
 * checks each log; returns how many there are, and what is wrong with any. Throws an Error with a
 * sentence for the operator.
 */
export function distributeDatabase(
  env: Environment,
  shards: number,
  say: (line: string) => void,
): Promise<{ logs: number; damage: string[] }> {
  const config = readConfig(env);
  return runAsOwner(config, 'the database cannot be distributed', async (ownerUrl) => {
    await withMigratedSession(ownerUrl, (owner) => distribute(owner, shards, say));
    return withDatabase(config.databaseUrl ?? ownerUrl, async (db) => {
      const logs = await logsToCheck(db);
      const damage: string[] = [];
      for (const { tenantId, problem } of logs) {
        const found = problem ?? (await storedDamage(db, sha, tenantId));
        if (found !== null) damage.push(found);
      }
      return { logs: logs.length, damage };
    });
  });
}
