import type { EventInput } from '../api-types.ts';
import {
  createReadying,
  InvalidEventError,
  type ReadyEvent,
  requireSourceName,
} from '../delivery/ready-event.ts';
import type { EventCatalogue } from '../event/catalogue.ts';
import { judgeEvent } from '../event/judge-event.ts';
import type { AnyAction, AnyResourceType } from '../event/words.ts';
import type { Adapter } from './adapters.ts';
import { OutboxRelay, type Relay, type RelayOptions } from './relay.ts';
import { insertSql, migrationSql, outboxTable } from './store.ts';

export interface OutboxOptions<A extends string = AnyAction, R extends string = AnyResourceType> {
  /** The allowed words of events; without it, all words that the service accepts. */
  catalogue?: EventCatalogue<A, R>;
  /** The table in lower case, optionally with its schema; default `audit_outbox`. */
  table?: string;
  /** Additional key names whose values are masked before writing. */
  maskedKeys?: readonly string[];
  /**
   * Numbers the events under this name, so that the service notices what is lost. Of letters,
   * digits, `.`, `_` and `-`. Needs `migration` to run once more.
   */
  source?: string;
  /** The tenant of events that name none. */
  tenantId?: string;
}

/** Events in the transactions of one database library. */
export interface TransactionalAudit<
  Tx,
  A extends string = AnyAction,
  R extends string = AnyResourceType,
> {
  /**
   * Writes the event in the host product's transaction: it is recorded if and only if that commits.
   * Call it after the change, so that the events of one row are in the order of its changes.
   * Resolves with the event's id. Throws InvalidEventError, before writing, for an event that the
   * service would refuse, and errors of the database.
   */
  inTransaction(transaction: Tx, event: EventInput<A, R>): Promise<string>;
  /** A sink into this transaction, for middleware and code without access to it. */
  sink(transaction: Tx): { record(event: EventInput<A, R>): Promise<string> };
}

export interface Outbox<A extends string = AnyAction, R extends string = AnyResourceType> {
  /** SQL that creates the table, for the host product's migrations; may run repeatedly. */
  migration: string;
  with<Tx>(adapter: Adapter<Tx>): TransactionalAudit<Tx, A, R>;
  /** Delivers committed events. Each process may run one; a lock lets one work at a time. */
  relay(options: RelayOptions): Relay;
}

/** Throws TypeError for a table's name that is not a lower-case identifier, or a wrong source. */
export function createOutbox<A extends string = AnyAction, R extends string = AnyResourceType>(
  options: OutboxOptions<A, R> = {},
): Outbox<A, R> {
  requireSourceName(options.source);
  const table = outboxTable(options.table ?? 'audit_outbox', options.source);
  const ready = createReadying(options);
  const insert = insertSql(table);
  return {
    migration: migrationSql(table),
    with<Tx>(adapter: Adapter<Tx>): TransactionalAudit<Tx> {
      const inTransaction = async (transaction: Tx, event: EventInput) => {
        const { id, tenantId, text } = checked(ready(event));
        await adapter(transaction, insert, [id, tenantId === '' ? null : tenantId, text]);
        return id;
      };
      return {
        inTransaction,
        sink: (transaction) => ({ record: (event) => inTransaction(transaction, event) }),
      };
    },
    relay: (relayOptions) => new OutboxRelay(table, relayOptions),
  };
}

/** Checks the event here, where the host product can still roll back its change. */
function checked(event: ReadyEvent): ReadyEvent {
  const context = { nowMs: Date.now(), boundTenantId: undefined };
  const { refusal } = judgeEvent(JSON.parse(event.text), context);
  if (refusal === undefined) return event;
  throw new InvalidEventError(refusal.code, refusal.detail, refusal.errors);
}
