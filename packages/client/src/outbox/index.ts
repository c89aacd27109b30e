/** Events in the host product's own transactions, and the relay that delivers them. */

export { InvalidEventError } from '../delivery/ready-event.ts';
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
  type PostgresJs,
  type PostgresJsTransaction,
  type PrismaTransaction,
  poolFromPostgresJs,
} from './adapters.ts';
export {
  createOutbox,
  type Outbox,
  type OutboxOptions,
  type TransactionalAudit,
} from './outbox.ts';
export type { Relay, RelayOptions } from './relay.ts';
export type { PoolConnection, PoolLike } from './relay-session.ts';
