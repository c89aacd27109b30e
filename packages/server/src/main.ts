import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import pino, { type Logger } from 'pino';
import { type App, buildApp } from './app.ts';
import { type Config, type Environment, readConfig } from './config.ts';
import { type Database, openDatabase } from './db.ts';
import { randomPassword, readOrCreateSecretFile } from './embedded-postgres/secret-file.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from './embedded-postgres.ts';
import { migrate, pendingMigrations } from './migrate.ts';

/** A running service. `stop` drains what was accepted, then closes the database it opened. */
export interface Service {
  url: string;
  dataDir: string;
  /** Where the platform key is kept, when the service made it itself. */
  platformKeyFile: string | null;
  takenOver: boolean;
  stop(): Promise<void>;
}

/**
 * Starts the service from its environment: the embedded PostgreSQL unless DATABASE_URL names another,
 * migrations for the embedded one, then HTTP. Throws an Error whose message is one sentence for the
 * operator; nothing is left running then.
 */
export async function startService(env: Environment): Promise<Service> {
  const config = readConfig(env);
  const logger = openLogger(config.logLevel);
  const cleanup: (() => Promise<unknown>)[] = [];
  try {
    return await start(config, logger, cleanup);
  } catch (error) {
    for (const undo of cleanup.reverse()) await undo();
    throw error;
  }
}

/**
 * Logs to standard error. Of an error only what it says and where: those of `pg` carry the client, its
 * connection and the row that was refused.
 */
function openLogger(level: string): Logger {
  const err = (error: unknown) => {
    if (!(error instanceof Error)) return { message: String(error) };
    const { name: type, message, stack } = error;
    return { type, code: 'code' in error ? error.code : undefined, message, stack };
  };
  const options = { level, base: null, serializers: { err } };
  return pino(options, pino.destination({ fd: 2, sync: true }));
}

async function start(
  given: Config,
  logger: Logger,
  cleanup: (() => Promise<unknown>)[],
): Promise<Service> {
  const embedded = given.databaseUrl === null ? await startEmbedded(given, logger) : null;
  if (embedded) cleanup.push(() => embedded.stop());
  else await makeDataDir(given.dataDir);
  const { config, platformKeyFile } = withPlatformKey(given);
  const db = await connect(config, embedded, logger);
  cleanup.push(() => db.close());
  const sessionSecret = config.sessionSecret ?? onceSecret(config.dataDir, 'session-secret', '');
  const app = await buildApp({ config, db, now: Date.now, logger, sessionSecret });
  cleanup.push(() => app.http.close());
  const url = await listen(app, config);
  return {
    url,
    dataDir: config.dataDir,
    platformKeyFile,
    takenOver: embedded?.takenOver ?? false,
    stop: async () => {
      // The order matters: no new requests, then what was accepted, then its database.
      await app.http.close();
      await db.close();
      await embedded?.stop();
    },
  };
}

async function makeDataDir(dataDir: string): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 }).catch((cause: Error) => {
    throw new Error(`DATA_DIR ${dataDir} cannot be made: ${cause.message}`, { cause });
  });
}

function startEmbedded(config: Config, logger: Logger): Promise<EmbeddedPostgres> {
  return startEmbeddedPostgres({ dataDir: config.dataDir, log: (message) => logger.info(message) });
}

async function connect(
  config: Config,
  embedded: EmbeddedPostgres | null,
  logger: Logger,
): Promise<Database> {
  const url = embedded?.servingUrl ?? config.databaseUrl;
  if (url === null) throw new Error('there is no database to serve from');
  if (embedded) await migrate(embedded.ownerUrl, embedded.servingUrl, Date.now());
  const db = openDatabase(url, {
    poolSize: config.databasePoolSize,
    onIdleError: (err) => logger.warn({ err }, 'a database connection was lost'),
  });
  const pending = await pendingMigrations(db.reader).catch(async (cause: Error) => {
    await db.close();
    throw new Error(
      `the database cannot be used: ${cause.message}; has \`indelible migrate\` been run?`,
      { cause },
    );
  });
  if (pending.length === 0) return db;
  await db.close();
  throw new Error(`the database lacks ${pending.join(', ')}; run \`indelible migrate\``);
}

function withPlatformKey(config: Config): { config: Config; platformKeyFile: string | null } {
  if (config.platformApiKeys.length > 0) return { config, platformKeyFile: null };
  const key = onceSecret(config.dataDir, 'platform-api-key', 'idl_platform_');
  return {
    config: { ...config, platformApiKeys: [key] },
    platformKeyFile: join(config.dataDir, 'platform-api-key'),
  };
}

/** A secret made on the first start and kept, mode 0600. */
function onceSecret(dataDir: string, name: string, prefix: string): string {
  return readOrCreateSecretFile(
    join(dataDir, name),
    () => `${prefix}${randomPassword()}${randomPassword()}`,
  );
}

async function listen(app: App, config: Config): Promise<string> {
  try {
    return await app.http.listen({ host: config.host, port: config.port });
  } catch (cause) {
    const taken = cause instanceof Error && 'code' in cause && cause.code === 'EADDRINUSE';
    if (!taken) throw cause;
    throw new Error(`port ${config.port} on ${config.host} is taken; set PORT to another one`, {
      cause,
    });
  }
}

/** Roles and schema, as the owner: of DATABASE_URL's PostgreSQL, or of the embedded one. */
export async function migrateDatabase(env: Environment): Promise<string[]> {
  const config = readConfig(env);
  if (config.databaseUrl !== null) {
    return migrate(config.databaseOwnerUrl ?? config.databaseUrl, config.databaseUrl, Date.now());
  }
  const embedded = await startEmbedded(config, pino({ level: 'silent' }));
  try {
    return await migrate(embedded.ownerUrl, embedded.servingUrl, Date.now());
  } finally {
    await embedded.stop();
  }
}
