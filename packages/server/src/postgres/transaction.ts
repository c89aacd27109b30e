import type pg from 'pg';

/** Runs `work` in a transaction on a connection of the pool; an error rolls it back. */
export async function transaction<T>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  const state: { broken?: Error | undefined } = {};
  return transactionOn(client, ['BEGIN'], work, state).finally(() => client.release(state.broken));
}

/** Afterwards `state.broken` tells why the connection is unusable, if so. */
export async function transactionOn<T>(
  client: pg.PoolClient,
  begin: readonly string[],
  work: (client: pg.PoolClient) => Promise<T>,
  state: { broken?: Error | undefined },
): Promise<T> {
  try {
    // BEGIN and the queries that `work` sends at once are one packet.
    const { stream } = client.connection;
    stream.cork();
    process.nextTick(() => stream.uncork());
    // Not awaited yet: its answer comes with that of the first query, and is checked before the
    // result is used.
    const begun = Promise.all(begin.map((text) => client.query(text)));
    begun.catch(() => {}); // told below, or by the queries behind it
    const result = await work(client);
    await begun;
    const { command } = await client.query('COMMIT');
    // After an unnoticed error COMMIT becomes a rollback without an error.
    if (command !== 'COMMIT') throw new Error(`the transaction ended with ${command}`);
    return result;
  } catch (error) {
    state.broken = await rollBack(client, error);
    throw error;
  }
}

/** Returns why the connection is unusable, if so: the pool must not reuse it. */
async function rollBack(client: pg.PoolClient, cause: unknown): Promise<Error | undefined> {
  // The server is still busy with the slow statement and would not process the ROLLBACK.
  if (cause instanceof Error && cause.message === queryTimeout) return cause;
  return client.query('ROLLBACK').then(
    () => undefined,
    (error: Error) => error,
  );
}

export const queryTimeout = 'Query read timeout';
