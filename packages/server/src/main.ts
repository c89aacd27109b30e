import cluster from 'node:cluster';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Plans } from '@indelible/protocol';
import type pg from 'pg';
import pino, { type Logger } from 'pino';
import { type App, buildApp } from './app.ts';
import { coldSettings, openColdSource } from './cold/index.ts';
import { type Config, type Environment, readConfig } from './config.ts';
import { openSigner, type Signer } from './crypto/signer.ts';
import { answerOperationsOnly } from './http/http-hooks.ts';
import { StoreRefused } from './log/store-identity.ts';
import { openObjectStore } from './objects/open-store.ts';
import { readDurability } from './operations/doctor.store.ts';
import { durabilityFinding } from './operations/durability.ts';
import { openLogger } from './operations/logger.ts';
import { createClock } from './postgres/clock.ts';
import {
  connectionProblem,
  type Database,
  databaseTime,
  isReadOnly,
  openDatabase,
  requireOneDatabase,
  unavailability,
} from './postgres/db.ts';
import { randomPassword, readOrCreateSecretFile } from './postgres/embedded/secret-file.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from './postgres/embedded-postgres.ts';
import {
  daysAheadMin,
  type MigrateOptions,
  migrate,
  pendingMigrations,
} from './postgres/migrate.ts';
import { holdServingLock } from './postgres/serving-lock.ts';
import { requirePlans, storePlans } from './tenants/index.ts';

/** A running service. `stop` finishes accepted requests, then closes the database it opened. */
export interface Service {
  url: string;
  dataDir: string;
  /** The file of the platform key, if the service generated it. */
  platformKeyFile: string | null;
  takenOver: boolean;
  /** Later calls wait for the first. */
  stop(): Promise<void>;
}

/** The work of a process: requests, background work, or both. All answer health and metrics. */
export type Role = 'api' | 'worker';

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
    const ground = await prepare(readConfig(env), 1, cleanup);
    return serve(ground, roles, cleanup);
  });
}

type Cleanup = (() => Promise<unknown>)[];

/** Runs a start; if it fails, undoes what it has done. */
export async function orUndone<T>(start: (cleanup: Cleanup) => Promise<T>): Promise<T> {
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

/** What processes need before they serve: a migrated database, a data folder, a platform key. */
export interface Ground extends Pick<Service, 'platformKeyFile' | 'takenOver'> {
  /** With `databaseUrl`. */
  config: Config;
  logger: Logger;
  /** Ends the embedded PostgreSQL, if there is one. */
  end(): Promise<void>;
}

/** Prepares the ground for `processes` processes. */
export async function prepare(given: Config, processes: number, cleanup: Cleanup): Promise<Ground> {
  const logger = openLogger(given.logLevel);
  const { plans } = given.catalogue;
  const embedded =
    given.databaseUrl === null ? await startEmbedded(given, logger, processes) : null;
  const end = async () => embedded?.stop();
  cleanup.push(end);
  if (embedded) {
    const { ownerUrl, servingUrl } = embedded;
    // Retention, half a minute after the start, makes the partitions of three months.
    await migrateWith(plans, ownerUrl, servingUrl, { daysAhead: daysAheadMin });
  } else await makeDataDir(given.dataDir);
  const { config, platformKeyFile } = withPlatformKey(given);
  const databaseUrl = embedded?.servingUrl ?? config.databaseUrl;
  const databaseOwnerUrl = embedded?.ownerUrl ?? config.databaseOwnerUrl;
  const takenOver = embedded?.takenOver ?? false;
  return {
    config: { ...config, databaseUrl, databaseOwnerUrl },
    ...{ logger, platformKeyFile, takenOver, end },
  };
}

async function serve(
  { config, logger, platformKeyFile, takenOver, end }: Ground,
  roles: readonly Role[],
  cleanup: Cleanup,
): Promise<Service> {
  const db = await connect(config, logger);
  cleanup.push(() => db.close());
  const endServing = await holdServingLock(db.url);
  cleanup.push(endServing);
  const durability = durabilityFinding(await readDurability(db.reader));
  if (durability.level !== 'ok') logger.error(durability.detail);
  const sessionSecret = config.sessionSecret ?? onceSecret(config.dataDir, 'session-secret', '');
  const objects = openObjectStore(config.objectStoreUrl);
  const signer = openConfiguredSigner(config);
  const clock = createClock();
  await clock.compare(() => databaseTime(db.reader));
  const app = await buildApp({ config, db, clock, logger, sessionSecret, objects, signer });
  cleanup.push(() => app.http.close());
  // An unavailable store does not stop the start: rounds wait for it, recording continues.
  await app.checkpoints.requireOwnStore().catch((error: unknown) => {
    if (error instanceof StoreRefused) throw error;
  });
  // Before the first request: a rewound database must not be written to.
  await app.checkpoints.tick();
  if (!roles.includes('api')) answerOperationsOnly(app.http);
  const url = await listen(app, config);
  const ownerUrl = config.databaseOwnerUrl;
  app.background.start({ isWorker: roles.includes('worker'), ownerUrl });
  return {
    ...{ url, dataDir: config.dataDir, platformKeyFile, takenOver },
    stop: once(async () => {
      // In this order: no new requests or background work, then accepted work, then a last
      // checkpoint over it, then the database.
      await app.http.close();
      await app.checkpoints.tick();
      await endServing();
      await db.close();
      await end();
    }),
  };
}

export function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= work();
    return done;
  };
}

/** The signing key; generated in DATA_DIR unless the configuration names another. */
export function openConfiguredSigner({ signingKeyFile, dataDir }: Config): Signer {
  if (signingKeyFile !== null) return openSigner(signingKeyFile, false);
  return openSigner(join(dataDir, 'signing-key.pem'), true);
}

async function makeDataDir(dataDir: string): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 }).catch((cause: Error) => {
    throw new Error(`DATA_DIR ${dataDir} cannot be made: ${cause.message}`, { cause });
  });
}

function startEmbedded(
  { dataDir, databasePoolSize }: Config,
  logger: Logger,
  processes: number,
): Promise<EmbeddedPostgres> {
  // Of each process both pools, plus recording, migration, administration and diagnosis.
  const connections = processes * (2 * databasePoolSize + 20) + 10;
  const settings = { max_connections: String(Math.max(50, connections)) };
  return startEmbeddedPostgres({ dataDir, settings, log: (message) => logger.info(message) });
}

async function connect(config: Config, logger: Logger): Promise<Database> {
  const { databaseUrl, databasePoolerUrl } = config;
  if (databaseUrl === null) throw new Error('there is no database to serve from');
  const { plans } = config.catalogue;
  const db = openDatabase(databaseUrl, {
    poolSize: config.databasePoolSize,
    poolerUrl: databasePoolerUrl,
    onIdleError: (err) => logger.warn({ err }, 'a database connection was lost'),
    cold: openColdSource(openObjectStore(config.objectStoreUrl), coldSettings(config)),
  });
  return requireUsable(db, plans).catch(async (error: unknown) => {
    await db.close();
    throw error;
  });
}

/** Returns the database after a check that it has this release's schema, and these plans. */
async function requireUsable(db: Database, plans: Plans): Promise<Database> {
  const pending = await pendingMigrations(db.reader).catch((cause: Error) => {
    throw new Error(unusable(cause, db.poolerUrl), { cause });
  });
  if (pending.length > 0)
    throw new Error(`the database lacks ${pending.join(', ')}; run \`indelible migrate\``);
  await requireOneDatabase(db);
  await requirePlans(db.writer, plans);
  return db;
}

function migrateWith(
  plans: Plans,
  ownerUrl: string,
  servingUrl: string,
  options: Pick<MigrateOptions, 'daysAhead'> = {},
): Promise<string[]> {
  const afterwards = (client: pg.Client) => storePlans(client, plans);
  return migrate(ownerUrl, servingUrl, { ...options, afterwards });
}

function unusable(cause: Error, poolerUrl: string | null): string {
  const reason = connectionProblem(cause);
  const variable = poolerUrl === null ? 'DATABASE_URL' : 'DATABASE_POOLER_URL';
  if (unavailability(cause) !== null)
    return `the database of ${variable} cannot be reached: ${reason}`;
  return `the database cannot be used: ${reason}; has \`indelible migrate\` been run?`;
}

function withPlatformKey(config: Config): { config: Config; platformKeyFile: string | null } {
  if (config.platformApiKeys.length > 0) return { config, platformKeyFile: null };
  const key = onceSecret(config.dataDir, 'platform-api-key', 'idl_platform_');
  return {
    config: { ...config, platformApiKeys: [key] },
    platformKeyFile: join(config.dataDir, 'platform-api-key'),
  };
}

/** A secret generated at the first start and stored with mode 0600. */
function onceSecret(dataDir: string, name: string, prefix: string): string {
  return readOrCreateSecretFile(
    join(dataDir, name),
    () => `${prefix}${randomPassword()}${randomPassword()}`,
  );
}

async function listen(app: App, { host, port }: Config): Promise<string> {
  // One of several processes shares the port with the others: the system deals connections out.
  const where = { host, port, reusePort: cluster.isWorker };
  return app.http.listen(where).catch((cause: unknown) => {
    throw new Error(notListening(host, port, cause), { cause });
  });
}

export function notListening(host: string, port: number, cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  if (code === 'EADDRINUSE') return `port ${port} on ${host} is taken; set PORT to another one`;
  if (code === 'EACCES') return `port ${port} is for privileged users; set PORT to another one`;
  if (code === 'ENOTSUP')
    return 'several processes can share a port on Linux only: leave out --processes';
  return `the service cannot listen on HOST ${host}: ${connectionProblem(cause)}`;
}

/** Roles and schema, as the owner: of DATABASE_URL's PostgreSQL, or of the embedded one. */
export async function migrateDatabase(env: Environment): Promise<string[]> {
  const config = readConfig(env);
  const { plans } = config.catalogue;
  if (config.databaseUrl !== null) {
    const ownerUrl = config.databaseOwnerUrl ?? config.databaseUrl;
    return migrateWith(plans, ownerUrl, config.databaseUrl);
  }
  const embedded = await startEmbedded(config, pino({ level: 'silent' }), 1);
  try {
    return await migrateWith(plans, embedded.ownerUrl, embedded.servingUrl);
  } finally {
    await embedded.stop();
  }
}
