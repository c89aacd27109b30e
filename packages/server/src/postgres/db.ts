import type { Socket } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import type pg from 'pg';
import { createClock } from './clock.ts';
import { codeOf, messageOf } from './embedded/error-code.ts';
import { isNodeLost, nodeGroupsMax } from './engine.ts';
import { openPool, openPoolerPool } from './pools.ts';
import type { Queries, TenantTx, WriterTx } from './tenant-tx.ts';
import { type Commit, queryTimeout, transaction, transactionOn } from './transaction.ts';

export type { Queries, TenantTx, WriterTx };

/**
 * Pools of two roles: no connection that serves requests can change or delete an event. The login
 * itself needs only membership in both roles.
 */
export interface Database {
  /** Tenants whose newest events searches of this process were long reading; see `words`. */
  readonly toIndex: Set<string>;
  /** With password: the export thread opens it again. */
  readonly url: string;
  /** PgBouncer in transaction mode, which gets reads, administration and jobs; null: none. */
  readonly poolerUrl: string | null;
  readonly reader: pg.Pool;
  /** For credentials, and administration, which may wait for a lock. */
  readonly writer: pg.Pool;
  /** The writer role for recording only: no waiting request can take its connections. */
  readonly recording: pg.Pool;
  /** The writer role for jobs and deliveries, so that they cannot take the callers' connections. */
  readonly background: pg.Pool;
  /** The writer role for readiness checks, independent of load. */
  readonly operations: pg.Pool;
  close(): Promise<void>;
}

/** The most connections that recording uses at once, by purpose. */
export const recordingConnections = { flushes: 1, waiters: 1, partitions: 1 } as const;

const longStatementMs = 600_000;

/** For transactions that work longer than 15 s between two statements: PostgreSQL ends others. */
export async function mayPause(tx: Pick<TenantTx, 'query'>): Promise<void> {
  await tx.query({ text: 'SET LOCAL idle_in_transaction_session_timeout = 0' });
}

/** For reads of one tenant by a role that sees all of them. */
export const tenantIn = (queries: Queries, tenantId: string): TenantTx => ({
  tenantId,
  query: (query) => queries.query(query),
});

export function openDatabase(
  url: string,
  options: {
    poolSize: number;
    poolerUrl?: string | null;
    onIdleError: (e: Error) => void;
  },
): Database {
  const { poolSize, poolerUrl = null } = options;
  let isClosing = false;
  // A connection that ends on request is not lost.
  const onIdleError = (error: Error) => {
    if (!isClosing) options.onIdleError(error);
  };
  const { flushes, waiters, partitions } = recordingConnections;
  const open = (role: string, size: number) =>
    poolerUrl !== null
      ? openPoolerPool(poolerUrl, role, size, onIdleError)
      : openPool(url, role, size, onIdleError);
  const reader = open('indelible_reader', poolSize);
  const writer = open('indelible_writer', poolSize);
  // On a cluster a flush has a transaction for each node; connections are opened when needed.
  const connections = flushes * nodeGroupsMax + waiters + partitions;
  // Never through a pooler: no reader, of any process, can take its connections.
  const recording = openPool(url, 'indelible_writer', connections, onIdleError);
  const background = open('indelible_writer', 5);
  const operations = openPool(url, 'indelible_writer', 2, onIdleError);
  return {
    url,
    poolerUrl,
    toIndex: new Set(),
    reader,
    writer,
    recording,
    background,
    operations,
    close: async () => {
      isClosing = true;
      const pools = [reader, writer, recording, background, operations];
      await Promise.all(pools.map((pool) => pool.end()));
    },
  };
}

/** For a command: runs `work` with a database of few connections, and closes it. */
export async function withDatabase<T>(
  url: string,
  work: (db: Database) => Promise<T>,
  options: { poolSize?: number } = {},
): Promise<T> {
  const db = openDatabase(url, { poolSize: 2, onIdleError: () => {}, ...options });
  return work(db).finally(() => db.close());
}

/** Throws a sentence if the pooler leads elsewhere: a replica would lack the newest events. */
export async function requireOneDatabase(db: Database): Promise<void> {
  if (db.poolerUrl === null) return;
  const asked = 'SELECT current_database(), pg_postmaster_start_time()::text';
  const direct = await db.operations.query(asked);
  const pooled = await db.reader.query(asked);
  if (!isDeepStrictEqual(pooled.rows, direct.rows))
    throw new Error('DATABASE_POOLER_URL leads to another database than DATABASE_URL');
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
 * Runs `work` in a read-only snapshot that sees only this tenant. If `gone` is aborted, PostgreSQL
 * ends its statement and the call throws.
 */
export async function readTenant<T>(
  db: Database,
  tenantId: string,
  work: (tx: TenantTx) => Promise<T>,
  gone?: AbortSignal,
): Promise<T> {
  const client = await db.reader.connect();
  const state: { broken?: Error | undefined } = {};
  const socket = client.connection.stream as Socket;
  const { timeout: waitMs = 0 } = socket;
  const disconnect = () => socket.destroy();
  gone?.addEventListener('abort', disconnect);
  try {
    gone?.throwIfAborted();
    const indexSoon = () => db.toIndex.add(tenantId);
    const allowMinutes = () => {
      socket.setTimeout(longStatementMs + waitMs);
      // Sent with the next statement, which fails if this one does.
      client.query(`SET LOCAL statement_timeout = ${longStatementMs}`).catch(() => {});
    };
    const read = (client: pg.PoolClient) =>
      work({ ...tenantIn(client, tenantId), gone, indexSoon, allowMinutes });
    return await transactionOn(client, beginTenant(tenantId), read, state);
  } finally {
    gone?.removeEventListener('abort', disconnect);
    socket.setTimeout(waitMs);
    client.release(gone?.aborted ? new Error('the caller has gone') : state.broken);
  }
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

/** Writes on recording's connections, at most `recordingConnections` at once. */
export function record<T>(
  db: Database,
  work: (tx: WriterTx, commit: Commit) => Promise<T>,
): Promise<T> {
  return transaction(db.recording, work);
}

/** Writes on the connections of jobs and deliveries. */
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
  const changes = { query_timeout: ownerStatementMs + 10_000 };
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
      transaction: (work) => transactionOn(client, ['BEGIN'], work),
    });
  } finally {
    // Released here, because the server ends a session after its connection: the next command would
    // find the lock taken. A lost connection has none.
    await client.query('SELECT pg_advisory_unlock_all()').catch(() => {});
    client.release(true);
    await pool.end();
  }
}

const passingFaults = new RegExp(
  [
    queryTimeout,
    'Connection terminated',
    'Connection ended',
    'timeout exceeded when trying to connect',
    'Client has encountered a connection error',
    'not queryable',
    'Cannot use a pool after calling end',
    // Its code is that of a bug where not the disk but a quota is full.
    'could not (extend|write|create) .*file',
  ].join('|'),
  'i',
);

const systemFaults = [
  ...['ENOENT', 'EPIPE', 'ETIMEDOUT', 'EACCES', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTDOWN'],
  ...['EHOSTUNREACH', 'ENETUNREACH', 'ENETDOWN', 'ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED'],
];

/** A standby, or a managed database with a full disk: until it is promoted or enlarged. */
const readOnly = '25006';
const diskFull = '53100';
/** Usually a write that waited for the head of a log. */
const lockTimeout = '55P03';
// Serialization failures; deadlocks; sessions that were ended for idling; a statement that was sent
// behind one that failed (its error may arrive first); and a database that a backup is being
// restored to, which refuses connections or is briefly absent.
const passingStates = ['40001', '40P01', '25P02', '25P03', '25P04', '55000', '3D000'];

/** For a process that cannot start: the server's message names only the statement. */
export function isReadOnly(error: unknown): boolean {
  return codeOf(error) === readOnly;
}

/** Whether a statement of PostgreSQL or of the archive was ended by its time limit. */
export function tookTooLong(error: unknown): boolean {
  return ['57014', 'too_slow'].includes(codeOf(error) ?? '');
}

/** Whether a statement timed out waiting for a lock. */
export function isLockTimeout(error: unknown): boolean {
  return codeOf(error) === lockTimeout;
}

/** Why a connection failed, for the operator; messages of system and server contain no secret. */
export function connectionProblem(error: unknown): string {
  // If every address of a name failed, only the single attempts have messages.
  const all = error instanceof AggregateError ? error.errors : [error];
  return all.map(messageOf).join('; ').replaceAll('\n', ' ');
}

/**
 * Why the database cannot do this now, for the caller, who may retry: 503 instead of 500. Null for
 * other errors. Classes 08, 28, 53, 57 and 58 of SQLSTATE concern the server, not the statement.
 */
export function unavailability(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  const code = codeOf(error) ?? '';
  if (code === readOnly) return 'the database is read-only';
  if (code === diskFull) return 'the disk of the database is full';
  if (code === lockTimeout) return 'the log is busy';
  if (tookTooLong(error)) return 'it takes longer than 10 seconds';
  const isPassing =
    /^(08|28|53|57|58)...$/.test(code) ||
    passingStates.includes(code) ||
    systemFaults.includes(code) ||
    isNodeLost(error) ||
    passingFaults.test(error.message);
  return isPassing ? 'the database is not available' : null;
}
