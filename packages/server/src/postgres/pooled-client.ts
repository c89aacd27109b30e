import type { Socket } from 'node:net';
import pg from 'pg';
import { queryTimeout } from './transaction.ts';

const send: (...asked: unknown[]) => unknown = pg.Client.prototype.query;

/**
 * A connection whose answers V8 frees with its next short collection. `pg` assigns a function to
 * each query (`query.callback = …`), for its promise and for its time limit. V8 makes functions
 * that are assigned to a property in the old generation, so every row that they lead to survived
 * until the next long collection: an eighth of all garbage, and pauses of 6 ms instead of 0.7.
 */
export class PooledClient extends pg.Client {
  /** Kept by `pg`. */
  declare readonly readyForQuery: boolean;
  declare private readonly connectionParameters: { query_timeout: string | number | false };

  constructor(config?: pg.ClientConfig) {
    super(config);
    const { connectionParameters } = this;
    const waitMs = Number(connectionParameters.query_timeout);
    connectionParameters.query_timeout = false;
    this.once('connect', () => {
      const stream = this.connection.stream as Socket;
      stream.setTimeout(waitMs);
      // A callback of setTimeout would be called once, which a wait for work uses up.
      stream.on('timeout', () => {
        if (!this.readyForQuery) stream.destroy(new Error(queryTimeout));
      });
    });
  }

  override query(asked: unknown, values?: unknown, callback?: unknown): never {
    const hasCallback = typeof (callback ?? values) === 'function';
    const answer =
      hasCallback || (asked !== null && typeof asked === 'object' && 'submit' in asked)
        ? send.call(this, asked, values, callback)
        : new Promise((resolve, reject) => {
            const answered = (error: unknown, result: unknown) =>
              error ? reject(error) : resolve(result);
            send.call(this, asked, values, answered);
          }).catch(rethrow);
    return answer as never;
  }
}

/** With the stack of the caller instead of the socket's. */
function rethrow(error: Error): never {
  Error.captureStackTrace(error);
  throw error;
}
