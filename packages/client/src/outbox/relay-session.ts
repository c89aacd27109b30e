import { errorOf } from '../error-of.ts';
import { type OutboxTable, releaseLock, takeLock } from './store.ts';

/** The used part of a pg `Pool`. */
export interface PoolLike {
  connect(): Promise<PoolConnection>;
}

export interface PoolConnection {
  query(text: string, values?: unknown[]): PromiseLike<{ rows: Record<string, unknown>[] }>;
  /** With an error, closes the connection instead of reusing it. */
  release(error?: Error): void;
  on?(event: 'error', listener: (error: Error) => void): unknown;
  removeListener?(event: 'error', listener: (error: Error) => void): unknown;
}

/**
 * The relay's connection. It holds the lock and runs every statement, so a relay that loses the
 * lock with its connection cannot delete rows either.
 */
export class RelaySession {
  readonly #pool: PoolLike;
  readonly #table: OutboxTable;
  #connection: PoolConnection | null = null;

  constructor(pool: PoolLike, table: OutboxTable) {
    this.#pool = pool;
    this.#table = table;
  }

  /** Whether this relay may work now. Without the lock it returns its connection to the pool. */
  async hold(): Promise<boolean> {
    this.#connection ??= await this.#connect();
    if (await takeLock((text) => this.query(text), this.#table)) return true;
    this.#giveBack(this.#connection);
    return false;
  }

  query(text: string, values?: unknown[]) {
    if (this.#connection === null) throw new Error('the connection to the database was lost');
    return this.#connection.query(text, values);
  }

  /** Closes a failed connection; PostgreSQL then releases the lock. */
  abandon(error: Error): void {
    if (this.#connection !== null) this.#giveBack(this.#connection, error);
  }

  async end(): Promise<void> {
    const connection = this.#connection;
    if (connection === null) return;
    try {
      await releaseLock((text) => connection.query(text), this.#table);
      this.#giveBack(connection);
    } catch (error) {
      this.#giveBack(connection, errorOf(error));
    }
  }

  async #connect(): Promise<PoolConnection> {
    const connection = await this.#pool.connect();
    // An unhandled error event would end the host's process.
    connection.on?.('error', this.#lost);
    return connection;
  }

  #giveBack(connection: PoolConnection, error?: Error): void {
    // An event of the connection may have come first, and a pool takes none back twice.
    if (this.#connection !== connection) return;
    this.#connection = null;
    connection.removeListener?.('error', this.#lost);
    connection.release(error);
  }

  #lost = (error: Error): void => this.abandon(error);
}
