import type pg from 'pg';

/**
 * Commits behind the queries that have been sent, without waiting for their answers; after one that
 * fails, PostgreSQL rolls back instead.
 */
export type Commit = () => Promise<unknown>;

type TransactionClient = pg.ClientBase & Pick<pg.Client, 'connection'>;

type Work<Client, T> = (client: Client, commit: Commit) => Promise<T>;

/** Runs `work` in a transaction on a connection of the pool; an error rolls it back. */
export async function transaction<T>(pool: pg.Pool, work: Work<pg.PoolClient, T>): Promise<T> {
  const client = await pool.connect();
  const state: { broken?: Error | undefined } = {};
  return transactionOn(client, ['BEGIN'], work, state).finally(() => client.release(state.broken));
}

/** Afterwards `state.broken` tells why the connection is unusable, if so. */
export async function transactionOn<Client extends TransactionClient, T>(
  client: Client,
  begin: readonly string[],
  work: Work<Client, T>,
  state: { broken?: Error | undefined } = {},
): Promise<T> {
  let committed: Promise<pg.QueryResult> | undefined;
  try {
    // BEGIN and the queries that `work` sends at once are one packet.
    const { stream } = client.connection;
    stream.cork();
    process.nextTick(() => stream.uncork());
    // Not awaited yet: its answer comes with that of the first query, and is checked before the
    // result is used.
    const begun = Promise.all(begin.map((text) => client.query(text)));
    begun.catch(() => {}); // told below, or by the queries behind it
    const commit = () => {
      committed ??= client.query('COMMIT');
      committed.catch(() => {}); // told below, or by the query before it
      return committed;
    };
    const result = await work(client, commit);
    await begun;
    const { command } = await commit();
    // After an unnoticed error COMMIT becomes a rollback without an error.
    if (command !== 'COMMIT') throw new Error(`the transaction ended with ${command}`);
    return result;
  } catch (error) {
    // PostgreSQL would log a warning for a ROLLBACK behind an answered COMMIT.
    const isOver = await committed?.then(Boolean, () => false);
    if (!isOver) state.broken = await rollBack(client, error);
    throw error;
  }
}

/** Returns why the connection is unusable, if so: the pool must not reuse it. */
async function rollBack(client: pg.ClientBase, cause: unknown): Promise<Error | undefined> {
  // The server is still busy with the slow statement and would not process the ROLLBACK.
  if (cause instanceof Error && cause.message === queryTimeout) return cause;
  return client.query('ROLLBACK').then(
    () => undefined,
    (error: Error) => error,
  );
}

export const queryTimeout = 'Query read timeout';
