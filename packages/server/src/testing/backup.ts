import pg from 'pg';
import { codeOf } from '../postgres/embedded/error-code.ts';
import { databaseUrl } from './global-setup.ts';
import { storedHistories } from './intact.ts';
import type { History } from './one-history.ts';
import type { TestService } from './service.ts';

const objectInUse = '55006';

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
    await this.#alone(this.#live, async (admin) => {
      await admin.query(`ALTER DATABASE ${this.#live} RENAME TO ${future}`);
      return future;
    });
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
    await this.#asAdmin(async (admin) => {
      for (const name of this.#made) await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
    });
  }

  async #copy(from: string, to: string): Promise<void> {
    await this.#alone(from, async (admin) => {
      await admin.query(`CREATE DATABASE ${to} TEMPLATE ${from} STRATEGY file_copy`);
      return from;
    });
  }

  /** No client may be connected meanwhile; `work` returns the name that the database has then. */
  async #alone(database: string, work: (admin: pg.Client) => Promise<string>): Promise<void> {
    await this.#asAdmin(async (admin) => {
      await admin.query(`ALTER DATABASE ${database} ALLOW_CONNECTIONS false`);
      const name = await this.#ended(admin, database, work);
      await admin.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
    });
  }

  async #ended(
    admin: pg.Client,
    database: string,
    work: (admin: pg.Client) => Promise<string>,
  ): Promise<string> {
    const all = 'SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = $1';
    await admin.query(all, [database]);
    try {
      return await work(admin);
    } catch (error) {
      // A connection that was being made is not listed yet.
      if (codeOf(error) === objectInUse) return this.#ended(admin, database, work);
      throw error;
    }
  }

  async #asAdmin(work: (admin: pg.Client) => Promise<void>): Promise<void> {
    const admin = new pg.Client({ connectionString: databaseUrl(this.#ownerUrl, 'postgres') });
    await admin.connect();
    await work(admin).finally(() => admin.end());
  }
}
