import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { reasonOf } from './error-code.ts';
import { type Cluster, type Connected, connectToServer, stopServer } from './postmaster.ts';

/** Advisory locks are per database; nothing else uses any in the maintenance database. */
const lockKey = 1;

/** The kernel closes a killed owner's connection; the server notices a moment later. */
const graceMs = 1_000;
const retryMs = 500;

/** Another process owns the data folder; the message is for the operator. */
class FolderInUse extends Error {}

const attemptsMax = 3;

/**
 * Connects to the cluster's server, which it starts if needed, and owns the data folder. An owner
 * that stops its server meanwhile ends the connection: then this process starts the server again.
 */
export async function ownServer(cluster: Cluster): Promise<Connected> {
  for (let attempt = 1; ; attempt += 1) {
    const connected = await connectToServer(cluster);
    try {
      await takeLock(connected.client, cluster.dataDir);
      return connected;
    } catch (error) {
      if (error instanceof FolderInUse || attempt === attemptsMax) throw error;
    }
  }
}

/**
 * Makes this process the owner of the data folder, for as long as `client` lives. If another
 * process is, throws a sentence with folder and process, and only disconnects: the server belongs
 * to the owner.
 */
async function takeLock(client: pg.Client, dataDir: string): Promise<void> {
  const deadline = performance.now() + graceMs;
  try {
    while (!(await tryLock(client))) {
      if (performance.now() > deadline) {
        throw new FolderInUse(
          `The data folder ${dataDir} is in use by process ${await holderOf(client)}: ` +
            'stop that one first; a second service needs a DATA_DIR of its own.',
        );
      }
      await delay(20);
    }
  } catch (error) {
    await client.end();
    throw error;
  }
}

/**
 * Keeps the instance lock of a serving process across restarts of PostgreSQL; `first` holds it
 * already. The returned function ends that and tells whether the lock is still held: only then may
 * the caller stop the server. The connection stays open, so that no other process can take the
 * server over.
 */
export function keepLock(
  cluster: Cluster,
  first: pg.Client,
  log: (message: string) => void,
): () => Promise<boolean> {
  let isHeld = false;
  let isClosing = false;
  let retaking: Promise<void> = Promise.resolve();
  const hold = (client: pg.Client) => {
    isHeld = true;
    client.once('end', () => {
      isHeld = false;
      if (!isClosing) retaking = retake();
    });
  };
  /** Restarts PostgreSQL if it is down: the service depends on it. */
  const retake = async () => {
    log('the connection to PostgreSQL that holds the data folder broke: connecting again');
    // At least once even when closing; otherwise a recovering server would keep running.
    do {
      try {
        hold((await ownServer(cluster)).client);
        log('PostgreSQL is back, and the data folder is held again');
        return;
      } catch (error) {
        log(reasonOf(error));
        await delay(retryMs);
      }
    } while (!isClosing);
  };
  hold(first);
  return async () => {
    isClosing = true;
    await retaking;
    return isHeld;
  };
}

async function tryLock(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ taken: boolean }>(
    'SELECT pg_try_advisory_lock($1) AS taken',
    [lockKey],
  );
  return rows[0]?.taken === true;
}

/**
 * Stops a server that this process has started without owning the data folder, and disconnects: a
 * service that owns it by now keeps the server.
 */
export async function leaveServer(cluster: Cluster, { client, spawned }: Connected): Promise<void> {
  try {
    if (spawned && (await tryLock(client))) await stopServer(cluster);
  } finally {
    await client.end().catch(() => {}); // the server may have ended it
  }
}

/** Number of the process that holds the lock, from its connection's name. */
async function holderOf(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT application_name AS name
       FROM pg_locks JOIN pg_stat_activity USING (pid)
      WHERE locktype = 'advisory' AND granted AND objid = $1
        AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    [lockKey],
  );
  return rows[0]?.name.match(/\d+$/)?.[0] ?? 'unknown';
}
