import { type ChildProcess, spawn } from 'node:child_process';
import { rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { type Account, runAs } from './account.ts';
import type { Binaries } from './binaries.ts';
import { logins } from './cluster.ts';
import { codeOf, reasonOf } from './error-code.ts';
import { requirePrivate } from './folders.ts';
import {
  isPostmaster,
  type PostmasterPid,
  processExists,
  readPostmasterPid,
} from './postmaster-pid.ts';
import {
  closeServerLog,
  failureIn,
  openServerLog,
  type ServerLog,
  textSince,
} from './server-log.ts';
import { port, serverArguments } from './settings.ts';

/** A cluster, and everything needed to run it. */
export interface Cluster {
  dataDir: string;
  home: string;
  data: string;
  socketFolder: string;
  binaries: Binaries;
  account: Account | undefined;
  settings: Record<string, string>;
  adminPassword: string;
  appPassword: string;
}

/** An administrator's connection to the maintenance database of a running server. */
export interface Connected {
  client: pg.Client;
  /** Whether this call started the server. */
  spawned: boolean;
}

const startSecondsMax = 60;
const stopSecondsMax = 300;
const pollMs = 20;
const respawnMs = 250;

/**
 * Connects to the cluster's server and starts it if needed. Adopts a running server of the data
 * folder, and waits for one that is starting, recovering or stopping. Two processes may do this at
 * once: PostgreSQL lets one server live, and both connect to it. Throws a sentence if the server
 * exits (with its reason) or is not ready within 60 s; a recovering server then continues for the
 * next start.
 */
export async function connectToServer(cluster: Cluster): Promise<Connected> {
  const deadline = performance.now() + startSecondsMax * 1000;
  let started: Started | undefined;
  let problem = 'it does not answer';
  for (;;) {
    const claim = readPostmasterPid(cluster.data);
    const running = claim !== undefined && isPostmaster(claim.pid, cluster.data);
    // A claim without a process of ours may belong to another process namespace: try its socket.
    if (claim !== undefined && (running ? claim.status === 'ready' : started === undefined)) {
      const attempt = await tryConnect(cluster, claim.socketFolder);
      if (attempt instanceof pg.Client) {
        return { client: attempt, spawned: claim.pid === started?.process.pid };
      }
      if (codeOf(attempt)?.startsWith('28')) {
        started?.process.kill('SIGINT');
        throw refused(cluster);
      }
      problem = reasonOf(attempt);
    } else if (running) problem = `state: ${claim.status}`;
    if (!running && (started === undefined || hasExited(started.process))) {
      if (started !== undefined) {
        requireRetryable(started, cluster);
        await delay(respawnMs);
      }
      removeMisleadingLocks(claim, cluster);
      started = startServer(cluster);
    }
    if (performance.now() > deadline) throw notReady(cluster, problem);
    await delay(pollMs);
  }
}

function notReady(cluster: Cluster, problem: string): Error {
  return new Error(
    `PostgreSQL in ${cluster.data} is not ready after ${startSecondsMax} s (${problem}); ` +
      `see ${join(cluster.home, 'postgres.log')}.`,
  );
}

/**
 * Shuts the cluster's server down (fast: open transactions are rolled back) and waits for its
 * process. Returns at once if none runs.
 */
export async function stopServer(cluster: Cluster): Promise<void> {
  const claim = readPostmasterPid(cluster.data);
  if (claim !== undefined && isPostmaster(claim.pid, cluster.data)) {
    process.kill(claim.pid, 'SIGINT');
    const deadline = performance.now() + stopSecondsMax * 1000;
    while (isPostmaster(claim.pid, cluster.data)) {
      if (performance.now() > deadline) {
        throw new Error(`PostgreSQL (process ${claim.pid}) is not down after ${stopSecondsMax} s.`);
      }
      await delay(pollMs);
    }
  }
  if (cluster.socketFolder !== join(cluster.home, 'socket')) removeIfEmpty(cluster.socketFolder);
}

/** Connection string for `pg` and libpq; the host before the path is not used. */
export function connectionUrl(
  socketFolder: string,
  user: string,
  password: string,
  database: string,
): string {
  const login = `${user}:${encodeURIComponent(password)}`;
  // With sslmode, because PGSSLMODE of the environment would require TLS on the socket.
  const query = `host=${encodeURIComponent(socketFolder)}&sslmode=disable`;
  return `postgresql://${login}@localhost:${port}/${database}?${query}`;
}

/** A server started by this process; it may have ended. */
interface Started {
  process: ChildProcess;
  log: ServerLog;
  failure: Error | undefined;
}

function startServer(cluster: Cluster): Started {
  const { binaries, data, socketFolder, settings, account } = cluster;
  const log = openServerLog(cluster.home);
  try {
    // Detached, in its own session: Ctrl-C of a terminal must reach only the service, which stops
    // the server after the last request.
    const child = spawn(
      join(binaries.bin, 'postgres'),
      serverArguments(data, socketFolder, settings),
      { ...runAs(account), detached: true, stdio: ['ignore', log.fd, log.fd] },
    );
    child.unref();
    const started: Started = { process: child, log, failure: undefined };
    child.on('error', (error) => {
      started.failure = error;
    });
    return started;
  } finally {
    closeServerLog(log);
  }
}

function hasExited(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}

/**
 * Throws the reason why a server ended, unless it gave way to another one on the same folder, or
 * processes of a killed server were still ending: both are temporary.
 */
function requireRetryable(started: Started, cluster: Cluster): void {
  const output = textSince(started.log);
  if (/lock file .* already exists|is still in use/.test(output)) return;
  const reason = started.failure === undefined ? failureIn(output) : reasonOf(started.failure);
  throw new Error(`PostgreSQL in ${cluster.data} did not start: ${reason}.`);
}

/**
 * PostgreSQL takes any living process of its account with the recorded number for a running server,
 * and after a power failure numbers are soon reused. Only called when the recorded server is gone.
 * If another process starts a server at this moment, its shared memory block, identified by the
 * data folder, prevents a second one.
 */
function removeMisleadingLocks(claim: PostmasterPid | undefined, cluster: Cluster): void {
  if (claim === undefined || !processExists(claim.pid)) return;
  rmSync(join(cluster.data, 'postmaster.pid'), { force: true });
  rmSync(join(cluster.socketFolder, `.s.PGSQL.${port}.lock`), { force: true });
}

/** Connects, or returns why that is impossible now. */
async function tryConnect(cluster: Cluster, socketFolder: string): Promise<pg.Client | Error> {
  const client = new pg.Client({
    connectionString: connectionUrl(
      socketFolder,
      logins.owner.name,
      cluster.adminPassword,
      'postgres',
    ),
    application_name: `indelible, process ${process.pid}`,
    connectionTimeoutMillis: 5_000,
  });
  // A lost connection emits `end`; an unhandled error event would end the process.
  client.on('error', () => {});
  try {
    requirePrivate(socketFolder, cluster.account);
    await client.connect();
    return client;
  } catch (error) {
    await client.end();
    return error instanceof Error ? error : new Error(String(error));
  }
}

function refused(cluster: Cluster): Error {
  return new Error(
    `PostgreSQL in ${cluster.data} refuses the password kept for it in ${cluster.dataDir}.`,
  );
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' && codeOf(error) !== 'ENOTEMPTY') throw error;
  }
}
