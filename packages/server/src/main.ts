import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Config, type Environment, readConfig, withSecrets } from './config.ts';
import { openLogger } from './operations/logger.ts';
import { isReadOnly } from './postgres/db.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from './postgres/embedded-postgres.ts';
import type { MigrateOptions } from './postgres/migrate.ts';
import type { Cleanup, Role, Service } from './serve.ts';

export { readConfig, withSecrets };

/**
 * Starts the service from its environment: the embedded PostgreSQL unless DATABASE_URL names
 * another, migrations for the embedded one, then HTTP. Throws an Error with a sentence for the
 * operator; then nothing is left running.
 */
export async function startService(
  env: Environment,
  roles: readonly Role[] = ['api', 'worker'],
): Promise<Service> {
  return orUndone(async (cleanup) => {
    const config = readConfig(env);
    const { embedded, prepare, serve } = await begin(config, cleanup);
    return serve(await prepare(config, embedded), roles, cleanup);
  });
}

/** Roles and schema, as the owner: of DATABASE_URL's PostgreSQL, or of the embedded one. */
export async function migrateDatabase(
  env: Environment,
  options: Pick<MigrateOptions, 'daysAhead' | 'log'> = {},
): Promise<string[]> {
  return orUndone(async (cleanup) => {
    const config = { ...readConfig(env), logLevel: 'silent' };
    const { embedded, migrateConfigured } = await begin(config, cleanup);
    const applied = await migrateConfigured(config, embedded, options);
    await embedded?.stop();
    return applied;
  });
}

/** Starts the embedded PostgreSQL, if it is wanted, and loads meanwhile what serves. */
async function begin(config: Config, cleanup: Cleanup) {
  const [embedded, serving] = await Promise.all([
    config.databaseUrl === null ? startEmbedded(config) : null,
    // Loading keeps this thread busy: first PostgreSQL's process must be running.
    nextTurn().then(() => import('./serve.ts')),
  ]);
  if (embedded) cleanup.push(embedded.stop);
  return { embedded, ...serving };
}

/** Runs a start; if it fails, undoes what it has done. */
async function orUndone<T>(start: (cleanup: Cleanup) => Promise<T>): Promise<T> {
  const cleanup: Cleanup = [];
  try {
    return await start(cleanup);
  } catch (error) {
    // An error during clean-up must not hide why the start failed.
    for (const undo of cleanup.reverse()) await undo().catch(() => {});
    throw isReadOnly(error) ? new Error(takesNoWrites, { cause: error }) : error;
  }
}

const takesNoWrites =
  'the database is read-only, and a start writes to it: name the primary in DATABASE_URL if this is a ' +
  'standby; if its disk is full, make room; then start again';

function startEmbedded({ dataDir, databasePoolSize, logLevel }: Config): Promise<EmbeddedPostgres> {
  const logger = openLogger(logLevel);
  // Both pools, plus recording, migration, administration and diagnosis.
  const connections = 2 * databasePoolSize + 30;
  const settings = { max_connections: String(Math.max(50, connections)) };
  return startEmbeddedPostgres({ dataDir, settings, log: (message) => logger.info(message) });
}
