import pg from 'pg';
import { onNodes, runAlone } from './cluster.ts';
import { databaseUrl } from './global-setup.ts';
import { storedHistories } from './intact.ts';
import type { History } from './one-history.ts';
import type { TestService } from './service.ts';

/**
 * Backups of a test service's database by PostgreSQL itself. Both calls end every connection to it,
 * including `service.owner`; services reconnect.
 */
export class Backups {
  readonly #live: string;
  readonly #ownerUrl: string;
  readonly #made: string[] = [];

  constructor({ ownerUrl }: Pick<TestService, 'ownerUrl'>) {
    this.#ownerUrl = ownerUrl;
    this.#live = new URL(ownerUrl).pathname.slice(1);
  }

  /** Copies the database; returns the name of the copy. */
  async take(): Promise<string> {
    const name = `${this.#live}_backup_${this.#made.length}`;
    await this.#copy(this.#live, name);
    this.#made.push(name);
    return name;
  }

  /** Replaces the database by a copy, while services are connected. */
  async restore(name: string): Promise<void> {
    const future = `${this.#live}_future_${this.#made.length}`;
    await this.#alone(this.#live, future, `ALTER DATABASE ${this.#live} RENAME TO ${future}`);
    this.#made.push(future);
    await this.#copy(name, this.#live);
  }

  /** A client with the owner's rights on the current database. */
  owner(): Promise<pg.Client> {
    return this.#connect(this.#live);
  }

  async #connect(database: string): Promise<pg.Client> {
    const options = '-c search_path=indelible';
    const connectionString = databaseUrl(this.#ownerUrl, database);
    const client = new pg.Client({ connectionString, options });
    client.on('error', () => {});
    await client.connect();
    return client;
  }

  /** Every log in the database and in each copy, including lost entries. */
  async histories(): Promise<History[]> {
    const found: History[] = [];
    for (const name of [this.#live, ...this.#made]) {
      const client = await this.#connect(name);
      found.push(...(await storedHistories(client).finally(() => client.end())));
    }
    return found;
  }

  async drop(): Promise<void> {
    await this.#onNodes(async (node) => {
      for (const name of this.#made)
        await runAlone(node, name, `DROP DATABASE ${name} WITH (FORCE)`);
    });
  }

  async #copy(from: string, to: string): Promise<void> {
    await this.#alone(from, from, `CREATE DATABASE ${to} TEMPLATE ${from} STRATEGY file_copy`);
  }

  /** No client may be connected to any node meanwhile. `name`: the database's after `sql`. */
  async #alone(database: string, name: string, sql: string): Promise<void> {
    await this.#onNodes((node) => allowConnections(node, database, false));
    await this.#onNodes((node) => runAlone(node, database, sql));
    await this.#onNodes((node) => allowConnections(node, name, true));
  }

  #onNodes(work: (node: pg.Client) => Promise<unknown>): Promise<void> {
    return onNodes(databaseUrl(this.#ownerUrl, 'postgres'), work);
  }
}

const allowConnections = (node: pg.Client, database: string, allowed: boolean) =>
  node.query(`ALTER DATABASE ${database} ALLOW_CONNECTIONS ${allowed}`);
