import { join } from 'node:path';
import type pg from 'pg';
import { accountOfThisProcess } from './embedded/account.ts';
import { locatePackage, openBinaries } from './embedded/binaries.ts';
import { database, logins, openCluster, removeUnfinished } from './embedded/cluster.ts';
import { clusterOwner, openDataDir, openHome, openSocketFolder } from './embedded/folders.ts';
import { keepLock, leaveServer, ownServer } from './embedded/instance-lock.ts';
import { type Cluster, connectionUrl, connectToServer, stopServer } from './embedded/postmaster.ts';
import { randomPassword, readOrCreateSecretFile, readSecretFile } from './embedded/secret-file.ts';

/** The PostgreSQL of a data folder, running and owned by this process. */
export type EmbeddedPostgres = Awaited<ReturnType<typeof startEmbeddedPostgres>>;

export interface EmbeddedPostgresOptions {
  dataDir: string;
  /** Gets single lines for the operator. */
  log: (message: string) => void;
  /** PostgreSQL settings in addition to, or instead of, ours. */
  settings?: Record<string, string>;
  /** Folder of the package with PostgreSQL's programs; default: the installed one. */
  binariesRoot?: string;
}

const servingLogin = logins.serving.name;

/**
 * Starts the PostgreSQL of `dataDir`; the first start makes folder, cluster and logins. Only one
 * process at a time owns a data folder; a server of a killed service is adopted. Every failure is
 * an Error with a sentence for the operator: folder in use or not writable, platform without
 * binaries, cluster of another major version, failure of initdb or server.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions) {
  const cluster = await prepare(options);
  const { client, spawned } = await ownServer(cluster);
  const endKeeping = keepLock(cluster, client, options.log);
  const stop = async () => {
    if (await endKeeping()) await stopServer(cluster);
  };
  try {
    await makeDatabase(client, cluster.appPassword);
    await removeUnfinished(cluster.home);
  } catch (error) {
    await stop();
    throw error;
  }
  if (!spawned) options.log(`took over the PostgreSQL that was still running in ${cluster.data}`);
  let stopped: Promise<void> | undefined;
  return {
    /** Superuser login of database `indelible`, a connection string for `pg` and libpq. */
    ownerUrl: connectionUrl(client.host, logins.owner.name, cluster.adminPassword, database),
    /** Login role of the same database: only the privileges that migrations grant. */
    servingUrl: connectionUrl(client.host, servingLogin, cluster.appPassword, database),
    /** Whether the server was already running, left by a killed service. */
    takenOver: !spawned,
    /** Shuts PostgreSQL down and waits for its end. Later calls wait for the first. */
    stop() {
      stopped ??= stop();
      return stopped;
    },
  };
}

/**
 * Runs `work` with the URL of the serving login, and starts the server of `dataDir` for it unless
 * one runs. Does not own the data folder: a service may start meanwhile, and keeps the server.
 */
export async function visitEmbeddedPostgres<T>(
  dataDir: string,
  work: (servingUrl: string) => Promise<T>,
): Promise<T> {
  const cluster = await prepare({ dataDir, log: () => {} });
  const connected = await connectToServer(cluster);
  const { host } = connected.client;
  try {
    return await work(connectionUrl(host, servingLogin, cluster.appPassword, database));
  } finally {
    await leaveServer(cluster, connected);
  }
}

/** Everything up to a cluster on disk. Safe for two processes at once. */
async function prepare(options: EmbeddedPostgresOptions): Promise<Cluster> {
  const { log, settings = {}, binariesRoot = locatePackage() } = options;
  const dataDir = openDataDir(options.dataDir);
  const owner = clusterOwner(dataDir);
  const account = accountOfThisProcess(owner);
  const binaries = await openBinaries(binariesRoot, account, log);
  const home = openHome(dataDir, account, log);
  const [adminPassword, appPassword] = openPasswords(dataDir, owner !== undefined);
  if (owner === undefined) log(`making a database in ${home}`);
  await openCluster(home, binaries, account, adminPassword);
  const socketFolder = openSocketFolder(home, account);
  const data = join(home, 'data');
  return {
    dataDir,
    home,
    data,
    socketFolder,
    binaries,
    account,
    settings,
    adminPassword,
    appPassword,
  };
}

/** New passwords only for a new cluster: an existing one would not know them. */
function openPasswords(dataDir: string, clusterExists: boolean): [string, string] {
  const open = (name: string) => {
    const path = join(dataDir, name);
    return clusterExists ? readSecretFile(path) : readOrCreateSecretFile(path, randomPassword);
  };
  return [open(logins.owner.passwordFile), open(logins.serving.passwordFile)];
}

/** Makes database and serving login, also after an interrupted first start. */
async function makeDatabase(client: pg.Client, appPassword: string): Promise<void> {
  const databases = await client.query('SELECT FROM pg_database WHERE datname = $1', [database]);
  if (databases.rowCount === 0) await client.query(`CREATE DATABASE ${database}`);
  const roles = await client.query('SELECT FROM pg_roles WHERE rolname = $1', [servingLogin]);
  if (roles.rowCount !== 0) return;
  // The maintenance database has the instance lock: the serving login must not connect to it.
  await client.query('REVOKE CONNECT ON DATABASE postgres FROM PUBLIC');
  const password = client.escapeLiteral(appPassword);
  await client.query(`CREATE ROLE ${servingLogin} LOGIN PASSWORD ${password}`);
}
