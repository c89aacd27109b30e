/** Events in the host product's own transactions, and the relay that delivers them. */

export { InvalidEventError } from '../delivery/invalid-event-error.ts';
export {
  type Adapter,
  type DrizzleTransaction,
  fromDrizzle,
  fromKysely,
  fromPg,
  fromPostgresJs,
  fromPrisma,
  type KyselyTransaction,
  type PgTransaction,
  type PostgresJsTransaction,
  type PrismaTransaction,
} from './adapters.ts';
export {
  createOutbox,
  type Outbox,
  type OutboxOptions,
  type TransactionalAudit,
} from './outbox.ts';
export { type PostgresJs, poolFromPostgresJs } from './postgres-js-pool.ts';
export type { Relay, RelayOptions } from './relay.ts';
export type { PoolConnection, PoolLike } from './relay-session.ts';
