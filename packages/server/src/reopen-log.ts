import { createCatalogue } from '@indelible/protocol';
import { type Config, type Environment, readConfig } from './config.ts';
import { asOwner, connectionProblem, type WriterTx } from './db.ts';
import { startEmbeddedPostgres } from './embedded-postgres.ts';
import { recordOwnWith } from './events/own-events.store.ts';
import { createPartitionKeeper } from './events/partitions.ts';
import { makePartitions, readServiceId } from './events/store.ts';
import { createUuidSource } from './events/uuid-source.ts';
import { type ReopenedLog, reopenLogs } from './log/reopen.job.ts';
import { migrate, pendingMigrations } from './migrate.ts';
import { openObjectStore } from './objects.ts';
import { createRandom } from './random.ts';
import { sha } from './sha256.ts';

export type { ReopenedLog } from './log/reopen.job.ts';

/**
 * `indelible log reopen`: lets recording go on after the database was rewound, see `reopenLogs`. Runs
 * as the owner: of DATABASE_OWNER_URL, or of the embedded PostgreSQL, which no service may be using.
 * All of it happens or nothing does. Throws an Error whose message is one sentence for the operator.
 */
export async function reopenLog(env: Environment): Promise<ReopenedLog[]> {
  const config = readConfig(env);
  const { databaseUrl, databaseOwnerUrl, dataDir } = config;
  if (databaseUrl !== null) return reopenAs(databaseOwnerUrl ?? databaseUrl, config);
  const embedded = await startEmbeddedPostgres({ dataDir, log: () => {} });
  try {
    await migrate(embedded.ownerUrl, embedded.servingUrl, Date.now());
    return await reopenAs(embedded.ownerUrl, config);
  } finally {
    await embedded.stop();
  }
}

async function reopenAs(ownerUrl: string, config: Config): Promise<ReopenedLog[]> {
  const objects = openObjectStore(config.objectStoreUrl);
  try {
    return await asOwner(ownerUrl, async (tx) => {
      const pending = await pendingMigrations(tx);
      if (pending.length > 0) throw new Error(`it lacks ${pending.join(', ')}; migrate it first`);
      return reopenLogs(tx, { sha, objects, recordOwn: await recordOwnIn(tx, config) });
    });
  } catch (cause) {
    throw new Error(`the logs cannot be reopened: ${connectionProblem(cause)}`, { cause });
  }
}

/** Records as the service would, but within this transaction and for this installation. */
async function recordOwnIn(tx: WriterTx, { sensitiveTypes }: Config) {
  const random = createRandom();
  return recordOwnWith({
    sha,
    random,
    newUuid: createUuidSource(random),
    catalogue: createCatalogue({ sensitiveTypes }),
    now: Date.now,
    serviceId: await readServiceId(tx),
    // Nobody else is recording: a partition made here keeps nobody waiting.
    partitions: createPartitionKeeper((wanted) => makePartitions(tx, [wanted])),
  });
}
