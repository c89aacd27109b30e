import pg from 'pg';
import { connectionProblem, isLockTimeout, type OwnerSession, type WriterTx } from './db.ts';

// Any fixed number. Serving processes hold it shared, `log reopen` exclusively.
const servingLock = 7_204_118_553;

const waitMs = 5_000;
const retryMs = 1_000;

/**
 * Prevents `log reopen` while this process serves: an advisory lock on its own connection, taken
 * again if that is lost. Resolves to the function that releases it. Throws a sentence while the
 * logs are being reopened.
 */
export async function holdServingLock(url: string): Promise<() => Promise<void>> {
  let client: pg.Client | null = await lock(url);
  let timer: NodeJS.Timeout | undefined;
  let isReleased = false;
  const again = () => {
    client = null;
    if (isReleased) return;
    timer = setTimeout(async () => {
      const next = await lock(url).catch(() => null);
      if (next === null || isReleased) {
        await next?.end();
        return again();
      }
      client = next;
      next.once('end', again);
    }, retryMs).unref();
  };
  client.once('end', again);
  return async () => {
    isReleased = true;
    clearTimeout(timer);
    // Released first: the server ends a session a moment after its connection.
    await client?.query('SELECT pg_advisory_unlock_all()').catch(() => {});
    await client?.end().catch(() => {});
  };
}

async function lock(url: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: waitMs,
    keepAlive: true,
    application_name: 'indelible serving',
  });
  client.on('error', () => {}); // its end is what counts
  try {
    await client.connect();
    await client.query(`SET lock_timeout = ${waitMs}`);
    await client.query('SELECT pg_advisory_lock_shared($1)', [servingLock]);
    return client;
  } catch (cause) {
    await client.end().catch(() => {});
    if (!isLockTimeout(cause)) throw new Error(connectionProblem(cause), { cause });
    const sentence = 'the logs are being reopened: start the service when that has ended';
    throw new Error(sentence, { cause });
  }
}

/** Keeps services from starting until the transaction ends; throws while one serves. */
export function requireNoneServing(tx: WriterTx): Promise<void> {
  return lockOut(tx, 'pg_advisory_xact_lock');
}

/** Forbids serving until the session ends. */
export function forbidServing(session: OwnerSession): Promise<void> {
  return lockOut(session, 'pg_advisory_lock');
}

async function lockOut(session: Pick<WriterTx, 'query'>, lock: string): Promise<void> {
  await session.query(`SELECT ${lock}($1)`, [servingLock]).catch((cause: unknown) => {
    if (!isLockTimeout(cause)) throw cause;
    throw new Error('a service is running on this database: stop every process of it first', {
      cause,
    });
  });
}
