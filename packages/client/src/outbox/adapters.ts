import type { PoolConnection, PoolLike } from './relay-session.ts';

/**
 * Runs a statement in the host product's transaction, for five libraries. Each adapter needs only
 * one method of the transaction; none of the libraries is a dependency.
 */

/** Runs one statement with `$1 …` parameters in the host product's transaction. */
export type Adapter<Tx> = (
  transaction: Tx,
  text: string,
  values: readonly (string | null)[],
) => PromiseLike<unknown>;

/** A `Client` or `PoolClient` of pg, after its `BEGIN`. */
export interface PgTransaction {
  query(text: string, values: (string | null)[]): PromiseLike<unknown>;
}

export const fromPg: Adapter<PgTransaction> = (client, text, values) =>
  client.query(text, [...values]);

/** The `sql` that postgres.js passes to `sql.begin(…)`. */
export interface PostgresJsTransaction {
  unsafe(text: string, values: (string | null)[]): PromiseLike<unknown>;
}

export const fromPostgresJs: Adapter<PostgresJsTransaction> = (sql, text, values) =>
  sql.unsafe(text, [...values]);

/** The `trx` of Kysely's `db.transaction().execute(…)`. */
export interface KyselyTransaction {
  executeQuery(query: never): PromiseLike<unknown>;
}

export const fromKysely: Adapter<KyselyTransaction> = (trx, text, values) => {
  const query = { kind: 'RawNode', sqlFragments: [text], parameters: [] };
  const compiled = { sql: text, parameters: values, query, queryId: { queryId: 'audit-outbox' } };
  return trx.executeQuery(compiled as never);
};

/** The `tx` of Drizzle's `db.transaction(…)`. */
export interface DrizzleTransaction {
  execute(query: never): PromiseLike<unknown>;
}

export const fromDrizzle: Adapter<DrizzleTransaction> = (tx, text, values) => {
  const statement = { toQuery: () => ({ sql: text, params: values }) };
  return tx.execute({ getSQL: () => statement } as never);
};

/** The `tx` of Prisma's `prisma.$transaction(async (tx) => …)`. */
export interface PrismaTransaction {
  $executeRawUnsafe(text: string, ...values: (string | null)[]): PromiseLike<unknown>;
}

export const fromPrisma: Adapter<PrismaTransaction> = (tx, text, values) =>
  tx.$executeRawUnsafe(text, ...values);

/** The used part of postgres.js. */
export interface PostgresJs {
  reserve(): PromiseLike<{
    unsafe(text: string, values?: never[]): PromiseLike<readonly Record<string, unknown>[]>;
    release(): void;
  }>;
}

/** The `pool` of a relay for hosts with postgres.js; reserves one of its connections. */
export function poolFromPostgresJs(sql: PostgresJs): PoolLike {
  return {
    connect: async (): Promise<PoolConnection> => {
      const connection = await sql.reserve();
      return {
        query: async (text, values = []) => {
          return { rows: [...(await connection.unsafe(text, values as never[]))] };
        },
        release: () => connection.release(),
      };
    },
  };
}
