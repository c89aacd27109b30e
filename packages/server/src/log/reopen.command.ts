import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, type Environment, readConfig } from '../config.ts';
import { createRandom } from '../crypto/random.ts';
import { sha } from '../crypto/sha256.ts';
import { openSigner } from '../crypto/signer.ts';
import { recordOwnWith } from '../events/own-events.store.ts';
import { createPartitionKeeper } from '../events/partitions.ts';
import { makePartitions, readServiceId } from '../events/store.ts';
import { createUuidSource } from '../events/uuid-source.ts';
import { openObjectStore } from '../objects/object-store.ts';
import { asOwner, connectionProblem, type WriterTx } from '../postgres/db.ts';
import { startEmbeddedPostgres } from '../postgres/embedded-postgres.ts';
import { migrate, pendingMigrations } from '../postgres/migrate.ts';
import { requireNoneServing } from '../postgres/serving-lock.ts';
import { type ReopenDeps, type ReopenedLog, reopenLogs } from './reopen.job.ts';

export type { ReopenedLog } from './reopen.job.ts';

/**
 * `indelible log reopen`: lets recording go on after the database was rewound,
 * see `reopenLogs`. Runs as the owner: of DATABASE_OWNER_URL, or of the
 * embedded PostgreSQL, which no service may be using. All of it happens or
 * nothing does. Throws an Error whose message is one sentence for the operator.
 */
export async function reopenLog(
  env: Environment,
  changes: Partial<ReopenDeps> = {},
): Promise<ReopenedLog[]> {
  const config = readConfig(env);
  const { databaseUrl, databaseOwnerUrl, dataDir } = config;
  if (databaseUrl !== null) return reopenAs(databaseOwnerUrl ?? databaseUrl, config, changes);
  const embedded = await startEmbeddedPostgres({ dataDir, log: () => {} });
  try {
    await migrate(embedded.ownerUrl, embedded.servingUrl, Date.now());
    return await reopenAs(embedded.ownerUrl, config, changes);
  } finally {
    await embedded.stop();
  }
}

async function reopenAs(
  ownerUrl: string,
  config: Config,
  changes: Partial<ReopenDeps>,
): Promise<ReopenedLog[]> {
  const objects = openObjectStore(config.objectStoreUrl);
  try {
    return await asOwner(ownerUrl, async (tx) => {
      await requireNoneServing(tx);
      const pending = await pendingMigrations(tx);
      if (pending.length > 0)
        throw new Error(
          `the database lacks ${pending.join(', ')}: run \`indelible migrate\` first`,
        );
      const recordOwn = await recordOwnIn(tx, config);
      const openSigner = reopeningSigner(config);
      const deps = { sha, now: Date.now, objects, recordOwn, openSigner };
      return reopenLogs(tx, { ...deps, ...changes });
    });
  } catch (cause) {
    throw new Error(`the logs cannot be reopened: ${connectionProblem(cause)}`, { cause });
  }
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

/** Records as the service would, but within this transaction and for this installation. */
async function recordOwnIn(tx: WriterTx, { catalogue }: Config) {
  const random = createRandom();
  return recordOwnWith({
    sha,
    random,
    newUuid: createUuidSource(random),
    catalogue,
    now: Date.now,
    serviceId: await readServiceId(tx),
    // Nobody else is recording: a partition made here keeps nobody waiting.
    partitions: createPartitionKeeper((wanted) => makePartitions(tx, [wanted])),
  });
}
