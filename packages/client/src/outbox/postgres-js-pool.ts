import type { PoolConnection, PoolLike } from './relay-session.ts';

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
