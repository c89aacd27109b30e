import pg from 'pg';

/**
 * Two pools, one a role: no connection that serves requests can change or delete an event.
 * The login itself needs no rights beyond membership in both roles.
 */
export interface Database {
  readonly reader: pg.Pool;
  readonly writer: pg.Pool;
  close(): Promise<void>;
}

/** A transaction in which row-level security shows one tenant's rows only; the sole way to read events. */
export interface TenantTx {
  readonly tenantId: string;
  query<R extends pg.QueryResultRow>(query: pg.QueryConfig): Promise<pg.QueryResult<R>>;
}

/** A transaction of the writer role: a flush, or an administrative change that records itself. */
export type WriterTx = pg.PoolClient;

const oid = { int8: 20, json: 114, timestamptz: 1184 };

/** JSON stays the text that was hashed; counts are safe integers; times are epoch milliseconds. */
const types: pg.CustomTypesConfig = {
  getTypeParser(id: number, format?: 'text' | 'binary') {
    if (id === oid.json) return (text: string) => text;
    if (id === oid.int8) return Number;
    if (id === oid.timestamptz) return (text: string) => Date.parse(`${text.replace(' ', 'T')}:00`);
    return pg.types.getTypeParser(id, format as 'text');
  },
};

function openPool(url: string, role: string, size: number, onIdleError: (e: Error) => void) {
  const pool = new pg.Pool({
    connectionString: url,
    max: size,
    types,
    connectionTimeoutMillis: 5_000,
    // Settings go with the connection's first packet, so no connection is ever without its role.
    options: [
      `role=${role}`,
      'search_path=indelible',
      'timezone=UTC',
      'statement_timeout=10000',
      'idle_in_transaction_session_timeout=15000',
      'lock_timeout=5000',
      'jit=off',
      // 150 partitions cost ten times as much to plan as to read.
      'plan_cache_mode=force_generic_plan',
    ]
      .map((setting) => `-c ${setting}`)
      .join(' '),
  });
  pool.on('error', onIdleError); // a lost idle connection is replaced on the next use
  return pool;
}

export function openDatabase(
  url: string,
  options: { poolSize: number; onIdleError: (e: Error) => void },
): Database {
  const reader = openPool(url, 'indelible_reader', options.poolSize, options.onIdleError);
  const writer = openPool(url, 'indelible_writer', options.poolSize, options.onIdleError);
  return {
    reader,
    writer,
    close: async () => {
      await Promise.all([reader.end(), writer.end()]);
    },
  };
}

/** Runs `work` in a read-only snapshot that sees this tenant alone. */
export function readTenant<T>(
  db: Database,
  tenantId: string,
  work: (tx: TenantTx) => Promise<T>,
): Promise<T> {
  return transaction(db.reader, beginTenant(tenantId), (client) =>
    work({ tenantId, query: (query) => client.query(query) }),
  );
}

// One round trip for both: the id is checked here because a simple query takes no parameters.
function beginTenant(tenantId: string): string {
  if (!/^[0-9a-f-]{36}$/.test(tenantId)) throw new Error('tenant id is not a UUID');
  return `BEGIN READ ONLY; SET LOCAL app.tenant_id = '${tenantId}'`;
}

/** Runs `work` in a transaction of the writer role; any error rolls everything back. */
export function write<T>(db: Database, work: (tx: WriterTx) => Promise<T>): Promise<T> {
  return transaction(db.writer, 'BEGIN', work);
}

async function transaction<T>(
  pool: pg.Pool,
  begin: string,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    await client.query(begin);
    const result = await work(client);
    await client.query('COMMIT');
    return result;
  } catch (error) {
    await client.query('ROLLBACK').catch((e: Error) => {
      broken = e; // the connection is gone: the pool must not hand it out again
    });
    throw error;
  } finally {
    client.release(broken);
  }
}

/** True for a database that is away, restarting, overloaded or too slow: the answer is 503, not 500. */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? String(error.code) : '';
  if (/^(08|53|57)/.test(code) || ['55P03', '40001', '40P01', '25P03', '25P04'].includes(code))
    return true;
  if (/^(ECONN|ENOENT|EPIPE|ETIMEDOUT|EACCES)/.test(code)) return true;
  return /Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|not queryable|Connection ended/i.test(
    error.message,
  );
}
