import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { reasonOf } from './error-code.ts';
import { type Cluster, connectToServer } from './postmaster.ts';

/** Advisory locks are per database; nothing else uses any in the maintenance database. */
const lockKey = 1;

/** The kernel closes a killed owner's connection; the server notices a moment later. */
const graceMs = 1_000;
const retryMs = 500;

/**
 * Makes this process the owner of the data folder, for as long as `client` lives. If another
 * process is, throws a sentence with folder and process, and only disconnects: the server belongs
 * to the owner.
 */
export async function takeLock(client: pg.Client, dataDir: string): Promise<void> {
  const deadline = performance.now() + graceMs;
  try {
    while (!(await tryLock(client))) {
      if (performance.now() > deadline) {
        throw new Error(
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

/** The instance lock of a serving process, kept across restarts of PostgreSQL. */
export class InstanceLock {
  readonly #cluster: Cluster;
  readonly #log: (message: string) => void;
  #client: pg.Client | undefined;
  #closing = false;
  #retaking: Promise<void> = Promise.resolve();

  /** `client` holds the lock already. */
  constructor(cluster: Cluster, client: pg.Client, log: (message: string) => void) {
    this.#cluster = cluster;
    this.#log = log;
    this.#hold(client);
  }

  /**
   * Ends the keeping and returns whether the lock is still held: only then may the caller stop the
   * server. The connection stays open, so that no other process can take the server over.
   */
  async close(): Promise<boolean> {
    this.#closing = true;
    await this.#retaking;
    return this.#client !== undefined;
  }

  #hold(client: pg.Client): void {
    this.#client = client;
    client.once('end', () => {
      this.#client = undefined;
      if (!this.#closing) this.#retaking = this.#retake();
    });
  }

  /** Restarts PostgreSQL if it is down: the service depends on it. */
  async #retake(): Promise<void> {
    this.#log('the connection to PostgreSQL that holds the data folder broke: connecting again');
    // At least once even when closing; otherwise a recovering server would keep running.
    do {
      try {
        const { client } = await connectToServer(this.#cluster);
        await takeLock(client, this.#cluster.dataDir);
        this.#hold(client);
        this.#log('PostgreSQL is back, and the data folder is held again');
        return;
      } catch (error) {
        this.#log(reasonOf(error));
        await delay(retryMs);
      }
    } while (!this.#closing);
  }
}

async function tryLock(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ taken: boolean }>(
    'SELECT pg_try_advisory_lock($1) AS taken',
    [lockKey],
  );
  return rows[0]?.taken === true;
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
