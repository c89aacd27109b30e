import pg from 'pg';
import { prepareSession, prepareTransactions } from './engine.ts';
import { PooledClient } from './pooled-client.ts';
import { transaction } from './transaction.ts';

const oid = { int8: 20, json: 114, timestamptz: 1184 };

/** JSON stays the hashed text; counts are safe integers; times are epoch milliseconds. */
const types: pg.CustomTypesConfig = {
  getTypeParser(id: number, format?: 'text' | 'binary') {
    if (id === oid.json) return (text: string) => text;
    if (id === oid.int8) return Number;
    if (id === oid.timestamptz) return (text: string) => Date.parse(`${text.replace(' ', 'T')}:00`);
    return pg.types.getTypeParser(id, format as 'text');
  },
};

/** A statement that waits longer for a lock fails (55P03). */
export const lockTimeoutMs = 5_000;

const settingsOf = (role: string) => ({
  role,
  search_path: 'indelible',
  timezone: 'UTC',
  statement_timeout: '10000',
  idle_in_transaction_session_timeout: '15000',
  lock_timeout: String(lockTimeoutMs),
  jit: 'off',
  // A question takes one processor, however many are idle: other callers ask too.
  max_parallel_workers_per_gather: '0',
  // The statement of a caller that has gone ends within a second of its connection.
  client_connection_check_interval: '1000',
});

function newPool(config: pg.PoolConfig, onIdleError: (e: Error) => void): pg.Pool {
  const pool = new pg.Pool({
    Client: PooledClient,
    types,
    // Independent queries are sent together: BEGIN with the first one.
    pipeline: true,
    connectionTimeoutMillis: 5_000,
    // Later than the server's own limit: for a server that stopped or is unreachable.
    query_timeout: 12_000,
    keepAlive: true,
    // The first list of a connection plans for all partitions, which takes a third of a second.
    min: 1,
    ...config,
  });
  pool.on('error', onIdleError); // a lost idle connection is replaced on the next use
  // A lost connection fails its query; without a listener it would also end the process.
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

export function openPool(
  url: string,
  role: string,
  size: number,
  onIdleError: (e: Error) => void,
  changes: pg.PoolConfig = {},
): pg.Pool {
  const connectionString = withSettings(url, settingsOf(role));
  const onConnect = (client: pg.ClientBase) => prepareSession(client, role);
  return newPool({ connectionString, max: size, onConnect, ...changes }, onIdleError);
}

/**
 * Settings are in the connection's first packet, so no connection is ever without its role. They
 * are merged into the URL's own `options`, because `pg` would drop ours otherwise.
 */
function withSettings(url: string, settings: Record<string, string>): string {
  const [base = '', query = ''] = url.split('?', 2);
  const params = new URLSearchParams(query);
  // The last of two values holds.
  const ours = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`);
  params.set('options', [params.get('options') ?? '', ...ours].join(' ').trim());
  return `${base}?${params}`;
}

/**
 * A pool behind PgBouncer in transaction mode, where each transaction gets any session. So every
 * statement is in a transaction, which begins with role and settings and leaves none behind.
 */
export function openPoolerPool(
  poolerUrl: string,
  role: string,
  size: number,
  onIdleError: (e: Error) => void,
): pg.Pool {
  const onConnect = (client: pg.ClientBase) => prepareTransactions(client, settingsOf(role));
  const pool = newPool({ connectionString: poolerUrl, max: size, onConnect }, onIdleError);
  pool.query = ((query: pg.QueryConfig, values?: unknown[]) =>
    transaction(pool, (client) => client.query(query, values))) as typeof pool.query;
  return pool;
}
