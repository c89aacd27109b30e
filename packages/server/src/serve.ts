import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Plans } from '@indelible/protocol';
import type pg from 'pg';
import type { Logger } from 'pino';
import { type App, buildApp } from './app.ts';
import type { Config } from './config.ts';
import { openConfiguredSigner } from './crypto/signer.ts';
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
  openDatabase,
  requireOneDatabase,
  unavailability,
  withOwnerSession,
} from './postgres/db.ts';
import { randomPassword, readOrCreateSecretFile } from './postgres/embedded/secret-file.ts';
import type { EmbeddedPostgres } from './postgres/embedded-postgres.ts';
import {
  daysAheadMin,
  type MigrateOptions,
  migrate,
  pendingMigrations,
} from './postgres/migrate.ts';
import { holdServingLock } from './postgres/serving-lock.ts';
import { makePartitionsAhead } from './retention/partitions.store.ts';
import { requirePlans, storePlans } from './tenants/plans.store.ts';

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

export type Cleanup = (() => Promise<unknown>)[];

/** What a process needs before it serves: a migrated database, a data folder, a platform key. */
type Ground = Awaited<ReturnType<typeof prepare>>;

export async function prepare(given: Config, embedded: EmbeddedPostgres | null) {
  const logger = openLogger(given.logLevel);
  const log = (message: string) => logger.info(message);
  if (embedded) await migrateConfigured(given, embedded, { daysAhead: null, log });
  else await makeDataDir(given.dataDir);
  // Beside the rest of a start; to be awaited before the first request.
  const partitions = makeFirstPartitions(embedded);
  // What awaits it gets its error; a start that fails before must not end by this one.
  partitions.catch(() => {});
  const { config, platformKeyFile } = withPlatformKey(given);
  const databaseUrl = embedded?.servingUrl ?? config.databaseUrl;
  const databaseOwnerUrl = embedded?.ownerUrl ?? config.databaseOwnerUrl;
  const takenOver = embedded?.takenOver ?? false;
  return {
    config: { ...config, databaseUrl, databaseOwnerUrl },
    logger,
    partitions,
    platformKeyFile,
    takenOver,
    /** Ends the embedded PostgreSQL, if there is one. */
    end: async () => embedded?.stop(),
  };
}

/** Retention, half a minute after the start, makes those of three months. */
async function makeFirstPartitions(embedded: EmbeddedPostgres | null): Promise<void> {
  if (embedded === null) return;
  await withOwnerSession(embedded.ownerUrl, (owner) =>
    makePartitionsAhead(owner, owner.now(), daysAheadMin),
  );
}

export async function serve(
  { config, logger, partitions, platformKeyFile, takenOver, end }: Ground,
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
  await partitions;
  if (!roles.includes('api')) answerOperationsOnly(app.http);
  const url = await listen(app, config);
  const ownerUrl = config.databaseOwnerUrl;
  app.background.start({ isWorker: roles.includes('worker'), ownerUrl });
  return {
    url,
    dataDir: config.dataDir,
    platformKeyFile,
    takenOver,
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

function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= work();
    return done;
  };
}

async function makeDataDir(dataDir: string): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 }).catch((cause: Error) => {
    throw new Error(`DATA_DIR ${dataDir} cannot be made: ${cause.message}`, { cause });
  });
}

async function connect(config: Config, logger: Logger): Promise<Database> {
  const { databaseUrl, databasePoolerUrl } = config;
  if (databaseUrl === null) throw new Error('there is no database to serve from');
  const { plans } = config.catalogue;
  const db = openDatabase(databaseUrl, {
    poolSize: config.databasePoolSize,
    poolerUrl: databasePoolerUrl,
    onIdleError: (err) => logger.warn({ err }, 'a database connection was lost'),
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

/** Roles, schema and plans, by the owner's login. */
export function migrateConfigured(
  config: Config,
  embedded: EmbeddedPostgres | null,
  options: Pick<MigrateOptions, 'daysAhead' | 'log'>,
): Promise<string[]> {
  const servingUrl = embedded?.servingUrl ?? config.databaseUrl ?? '';
  const ownerUrl = embedded?.ownerUrl ?? config.databaseOwnerUrl ?? servingUrl;
  const afterwards = (client: pg.Client) => storePlans(client, config.catalogue.plans);
  return migrate(ownerUrl, servingUrl, { afterwards, ...options });
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
  return app.http.listen({ host, port }).catch((cause: unknown) => {
    throw new Error(notListening(host, port, cause), { cause });
  });
}

function notListening(host: string, port: number, cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  if (code === 'EADDRINUSE') return `port ${port} on ${host} is taken; set PORT to another one`;
  if (code === 'EACCES') return `port ${port} is for privileged users; set PORT to another one`;
  return `the service cannot listen on HOST ${host}: ${connectionProblem(cause)}`;
}
