import type pg from 'pg';

/**
 * A transaction in which row-level security shows one tenant's rows; the only way to read events.
 */
export interface TenantTx {
  readonly tenantId: string;
  /** Aborts when the caller has gone: long work between statements should end. */
  readonly gone?: AbortSignal | undefined;
  /** Has the tenant's newest events put into a block of words soon. */
  readonly indexSoon?: (() => void) | undefined;
  /** Lets each further statement of the transaction take ten minutes instead of ten seconds. */
  readonly allowMinutes?: (() => void) | undefined;
  query<R extends pg.QueryResultRow>(query: pg.QueryConfig): Promise<pg.QueryResult<R>>;
}

/** A transaction of the writer role: a flush, or an administrative change with its record. */
export type WriterTx = pg.PoolClient;

/** Runs statements: a transaction, a connection, or the owner's session. */
export type Queries = Pick<WriterTx, 'query'>;
