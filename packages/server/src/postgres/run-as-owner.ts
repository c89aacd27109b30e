import type { Config } from '../config.ts';
import { connectionProblem, type OwnerSession, withOwnerSession } from './db.ts';
import { findingOf } from './embedded/error-code.ts';
import { clusterOwner } from './embedded/folders.ts';
import { runningServerUrl } from './embedded/running-server.ts';
import { startEmbeddedPostgres } from './embedded-postgres.ts';
import { migrate, pendingMigrations } from './migrate.ts';

/* Shared by commands that act as the owner: retention, erasure, archive. */

/**
 * Runs `work` with the owner's URL: of DATABASE_OWNER_URL, or of the embedded PostgreSQL, which a
 * service may be using and which is started if needed. An error becomes one sentence after
 * `failed`; a `refusal` and NotMigrated, whose messages are sentences for the operator, are passed
 * on. `alone`: throws if a service is using the embedded PostgreSQL.
 */
export async function runAsOwner<T>(
  { databaseUrl, databaseOwnerUrl, dataDir }: Config,
  failed: string,
  work: (ownerUrl: string) => Promise<T>,
  { refusal, alone = false }: { refusal?: new () => Error; alone?: boolean } = {},
): Promise<T> {
  const explained = (cause: unknown) => {
    const isSentence = cause instanceof NotMigrated || (refusal && cause instanceof refusal);
    if (isSentence) throw cause;
    throw new Error(`${failed}: ${findingOf(cause) ?? connectionProblem(cause)}`, { cause });
  };
  const running = () => (alone ? null : runningServerUrl(dataDir, 'owner'));
  const url = databaseUrl === null ? running() : (databaseOwnerUrl ?? databaseUrl);
  if (url !== null) return work(url).catch(explained);
  requireDatabase(dataDir);
  const embedded = await startEmbeddedPostgres({ dataDir, log: () => {} });
  try {
    await migrate(embedded.ownerUrl, embedded.servingUrl);
    return await work(embedded.ownerUrl).catch(explained);
  } finally {
    await embedded.stop();
  }
}

/**
 * A command must not make a database where there is none, as in another folder than the service's:
 * an empty one has no damage to find. Throws a sentence for the operator.
 */
export function requireDatabase(dataDir: string): void {
  if (clusterOwner(dataDir) !== undefined) return;
  throw new Error(
    `${dataDir} has no database: set DATA_DIR to the folder of the service, or DATABASE_URL if it ` +
      'uses a PostgreSQL of your own; `indelible serve` and `indelible migrate` make one',
  );
}

/** Nothing was begun: what to repeat comes after the migration. */
class NotMigrated extends Error {}

/**
 * An owner's session on a database with this release's schema; see `withOwnerSession`. Throws
 * NotMigrated for another one.
 */
export function withMigratedSession<T>(
  ownerUrl: string,
  work: (owner: OwnerSession) => Promise<T>,
): Promise<T> {
  return withOwnerSession(ownerUrl, async (owner) => {
    const pending = await pendingMigrations(owner);
    if (pending.length > 0) {
      const lacks = `the database lacks ${pending.join(', ')}`;
      throw new NotMigrated(`${lacks}: run \`indelible migrate\` first`);
    }
    return work(owner);
  });
}
