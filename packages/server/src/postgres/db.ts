import pg from 'pg';
import { createClock } from './clock.ts';
import { nodeGroupsMax, prepareSession } from './engine.ts';

/**
 * Pools of two roles: no connection that serves requests can change or delete an event. The login
 * itself needs only membership in both roles.
 */
export interface Database {
  /** Reads events that have left PostgreSQL. */
  readonly cold: ColdSource | undefined;
  /** Its URL with password: the export thread opens it again. */
  readonly url: string;
  readonly reader: pg.Pool;
  /** For credentials, and administration, which may wait for a lock. */
  readonly writer: pg.Pool;
  /** The writer role for recording only: no waiting request can take its connections. */
  readonly recording: pg.Pool;
  /** The writer role for jobs and deliveries, so that they cannot take the callers' connections. */
  readonly background: pg.Pool;
  /** The writer role for readiness checks and cancelling statements, independent of load. */
  readonly operations: pg.Pool;
  close(): Promise<void>;
}

/** The most connections that recording uses at once, by purpose. */
export const recordingConnections = { flushes: 2, waiters: 4, partitions: 1 } as const;

/**
 * A transaction in which row-level security shows one tenant's rows; the only way to read events.
 */
export interface TenantTx {
  readonly tenantId: string;
  readonly cold?: ColdSource | undefined;
  query<R extends pg.QueryResultRow>(query: pg.QueryConfig): Promise<pg.QueryResult<R>>;
}

/** Reads archived events with DuckDB; see the folder `cold`. */
export interface ColdSource {
  /**
   * The rows of a statement over local copies of these objects. Throws `unavailable` while the
   * object store cannot be read, and after ten seconds.
   */
  read(
    files: readonly { name: string; bytes: number; sha256: string }[],
    statement: (paths: readonly string[]) => string,
    values: readonly unknown[],
  ): Promise<unknown[][]>;
  close(): void;
}

/** A transaction of the writer role: a flush, or an administrative change with its record. */
export type WriterTx = pg.PoolClient;

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

function openPool(
  url: string,
  role: string,
  size: number,
  onIdleError: (e: Error) => void,
  changes: pg.PoolConfig = {},
) {
  const pool = new pg.Pool({
    connectionString: withSettings(url, [
      `role=${role}`,
      'search_path=indelible',
      'timezone=UTC',
      'statement_timeout=10000',
      'idle_in_transaction_session_timeout=15000',
      'lock_timeout=5000',
      'jit=off',
      // A question takes one processor, however many are idle: other callers ask too.
      'max_parallel_workers_per_gather=0',
    ]),
    max: size,
    types,
    // Independent queries are sent together: BEGIN with the first one.
    pipeline: true,
    connectionTimeoutMillis: 5_000,
    // Later than the server's own limit: for a server that stopped or is unreachable.
    query_timeout: 12_000,
    keepAlive: true,
    onConnect: (client) => prepareSession(client, role),
    ...changes,
  });
  pool.on('error', onIdleError); // a lost idle connection is replaced on the next use
  // A lost connection fails its query; without a listener it would also end the process.
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

/**
 * Settings are in the connection's first packet, so no connection is ever without its role. They
 * are merged into the URL's own `options`, because `pg` would drop ours otherwise.
 */
function withSettings(url: string, settings: readonly string[]): string {
  const [base = '', query = ''] = url.split('?', 2);
  const params = new URLSearchParams(query);
  const ours = settings.map((setting) => `-c ${setting}`); // of two values the last one holds
  params.set('options', [params.get('options') ?? '', ...ours].join(' ').trim());
  return `${base}?${params}`;
}

export function openDatabase(
  url: string,
  options: { poolSize: number; onIdleError: (e: Error) => void; cold?: ColdSource },
): Database {
  const { poolSize, cold } = options;
  let isClosing = false;
  // A connection that ends on request is not lost.
  const onIdleError = (error: Error) => {
    if (!isClosing) options.onIdleError(error);
  };
  const { flushes, waiters, partitions } = recordingConnections;
  const reader = openPool(url, 'indelible_reader', poolSize, onIdleError);
  const writer = openPool(url, 'indelible_writer', poolSize, onIdleError);
  // On a cluster a flush has a transaction for each node; connections are opened when needed.
  const connections = flushes * nodeGroupsMax + waiters + partitions;
  const recording = openPool(url, 'indelible_writer', connections, onIdleError);
  const background = openPool(url, 'indelible_writer', 5, onIdleError);
  const operations = openPool(url, 'indelible_writer', 2, onIdleError);
  return {
    url,
    cold,
    reader,
    writer,
    recording,
    background,
    operations,
    close: async () => {
      isClosing = true;
      const pools = [reader, writer, recording, background, operations];
      await Promise.all(pools.map((pool) => pool.end()));
      cold?.close();
    },
  };
}

/** PostgreSQL's clock, in milliseconds since 1970. */
export async function databaseTime(db: Pick<pg.ClientBase, 'query'>): Promise<number> {
  const { rows } = await db.query<{ ms: number }>(
    'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms',
  );
  if (rows[0] === undefined) throw new Error('the database does not tell the time');
  return rows[0].ms;
}

/**
 * Runs `work` in a read-only snapshot that sees only this tenant. If `gone` is aborted, its
 * statement is cancelled and the call throws.
 */
export async function readTenant<T>(
  db: Database,
  tenantId: string,
  work: (tx: TenantTx) => Promise<T>,
  gone?: AbortSignal,
): Promise<T> {
  const client = await db.reader.connect();
  const state: { broken?: Error | undefined } = {};
  let cancelled: Promise<unknown> | undefined;
  const cancel = () => {
    cancelled = cancelStatement(db, client).catch(() => {});
  };
  gone?.addEventListener('abort', cancel);
  try {
    gone?.throwIfAborted();
    const read = (client: pg.PoolClient) =>
      work({ tenantId, cold: db.cold, query: (query) => client.query(query) });
    return await transactionOn(client, beginTenant(tenantId), read, state);
  } finally {
    gone?.removeEventListener('abort', cancel);
    await cancelled;
    // The cancellation may arrive late, and must not hit the next caller's statement.
    client.release(cancelled ? new Error('the caller has gone') : state.broken);
  }
}

/** As the login, which may cancel statements of its sessions in any role. */
async function cancelStatement(db: Database, client: pg.PoolClient): Promise<void> {
  const { processID } = client as pg.PoolClient & { processID: number };
  await db.operations.query(
    `SET ROLE NONE; SELECT pg_cancel_backend(${Number(processID)}); RESET ROLE`,
  );
}

// The id is checked here, because a simple query takes no parameters.
function beginTenant(tenantId: string): string[] {
  if (!/^[0-9a-f-]{36}$/.test(tenantId)) throw new Error('tenant id is not a UUID');
  // One snapshot: a page takes several statements, and rows may change class between them.
  return [
    'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY',
    // Alone, because Citus hands on the whole string.
    `SET LOCAL app.tenant_id = '${tenantId}'`,
  ];
}

/** Runs `work` in a transaction of the writer role; an error rolls it back. */
export function write<T>(db: Database, work: (tx: WriterTx) => Promise<T>): Promise<T> {
  return transaction(db.writer, work);
}

/** The same on recording's connections, at most `recordingConnections` at once. */
export function record<T>(db: Database, work: (tx: WriterTx) => Promise<T>): Promise<T> {
  return transaction(db.recording, work);
}

/** The same on connections that are independent of load. */
export function writeForOperations<T>(
  db: Database,
  work: (tx: WriterTx) => Promise<T>,
): Promise<T> {
  return transaction(db.operations, work);
}

/** The same on the connections of jobs and deliveries. */
export function writeInBackground<T>(db: Database, work: (tx: WriterTx) => Promise<T>): Promise<T> {
  return transaction(db.background, work);
}

/** One connection of the owner, also for steps that cannot run in a transaction. */
export interface OwnerSession {
  /** A statement outside a transaction. */
  query: pg.PoolClient['query'];
  transaction<T>(work: (tx: WriterTx) => Promise<T>): Promise<T>;
  /** PostgreSQL's clock: a wrong clock of this machine must not remove an event too early. */
  now(): number;
}

const ownerStatementMs = 300_000;

/**
 * Runs `work` on one connection of the owner, which releases its locks and settings at the end: for
 * maintenance, never for serving. A statement may take minutes; a lock is awaited two seconds.
 */
export async function withOwnerSession<T>(
  ownerUrl: string,
  work: (session: OwnerSession) => Promise<T>,
): Promise<T> {
  const changes = { pipeline: false, query_timeout: ownerStatementMs + 10_000 };
  const pool = openPool(ownerUrl, 'indelible_owner', 1, () => {}, changes);
  const client = await pool.connect().catch(async (error: unknown) => {
    await pool.end();
    throw error;
  });
  try {
    // A plan for the given values skips the other partitions.
    await client.query(
      `SET statement_timeout = ${ownerStatementMs}; SET lock_timeout = 2000; SET plan_cache_mode = force_custom_plan`,
    );
    const clock = createClock();
    await clock.compare(() => databaseTime(client));
    return await work({
      now: clock.now,
      query: client.query.bind(client) as pg.PoolClient['query'],
      transaction: (work) => transactionOn(client, ['BEGIN'], work, {}),
    });
  } finally {
    // Released here, because the server ends a session after its connection: the next command would
    // find the lock taken. A lost connection has none.
    await client.query('SELECT pg_advisory_unlock_all()').catch(() => {});
    client.release(true);
    await pool.end();
  }
}

async function transaction<T>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  const state: { broken?: Error | undefined } = {};
  return transactionOn(client, ['BEGIN'], work, state).finally(() => client.release(state.broken));
}

/** Afterwards `state.broken` tells why the connection is unusable, if so. */
async function transactionOn<T>(
  client: pg.PoolClient,
  begin: readonly string[],
  work: (client: pg.PoolClient) => Promise<T>,
  state: { broken?: Error | undefined },
): Promise<T> {
  try {
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

const queryTimeout = 'Query read timeout';

const connectionFaults = new RegExp(
  [
    queryTimeout,
    'Connection terminated',
    'Connection ended',
    'timeout exceeded when trying to connect',
    'Client has encountered a connection error',
    'not queryable',
    'Cannot use a pool after calling end',
  ].join('|'),
  'i',
);

const systemFaults = [
  ...['ENOENT', 'EPIPE', 'ETIMEDOUT', 'EACCES', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTDOWN'],
  ...['EHOSTUNREACH', 'ENETUNREACH', 'ENETDOWN', 'ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED'],
];

/** A standby, or a managed database with a full disk: until it is promoted or enlarged. */
const readOnly = '25006';
/** Usually a write that waited for the head of a log. */
const lockTimeout = '55P03';
/** Also a cancelled statement, whose caller has left. */
const statementTimeout = '57014';
// Serialization failures, deadlocks, sessions that were ended for idling; and a database that a
// backup is being restored to, which refuses connections or is briefly absent.
const passingStates = ['40001', '40P01', '25P03', '25P04', '55000', '3D000'];

/** For a process that cannot start: the server's message names only the statement. */
export function isReadOnly(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === readOnly;
}

/** Why a connection failed, for the operator; messages of system and server contain no secret. */
export function connectionProblem(error: unknown): string {
  // If every address of a name failed, only the single attempts have messages.
  const all = error instanceof AggregateError ? error.errors : [error];
  const texts = all.map((each: unknown) => (each instanceof Error ? each.message : String(each)));
  return texts.join('; ').replaceAll('\n', ' ');
}

/**
 * Why the database cannot do this now, for the caller, who may retry: 503 instead of 500. Null for
 * other errors. Classes 08, 28, 53, 57 and 58 of SQLSTATE concern the server, not the statement.
 */
export function unavailability(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  const code = 'code' in error ? String(error.code) : '';
  if (code === readOnly) return 'the database is read-only';
  if (code === lockTimeout) return 'the log is busy';
  if (code === statementTimeout) return 'it takes longer than 10 seconds; narrow range or filters';
  const isPassing =
    /^(08|28|53|57|58)...$/.test(code) ||
    passingStates.includes(code) ||
    systemFaults.includes(code) ||
    connectionFaults.test(error.message);
  return isPassing ? 'the database is not available' : null;
}
