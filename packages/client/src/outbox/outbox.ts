import type { EventInput } from '../api-types.ts';
import type { AuditSink } from '../audit-sink.ts';
import { InvalidEventError } from '../delivery/invalid-event-error.ts';
import { createReadying, type ReadyEvent } from '../delivery/ready-event.ts';
import { judgeEvent } from '../event/judge-event.ts';
import type { Adapter } from './adapters.ts';
import { createRelay, type Relay, type RelayOptions } from './relay.ts';
import { insertSql, migrationSql, outboxTable } from './store.ts';

export interface OutboxOptions {
  /** The host's table, in lower case, with a schema if need be; `audit_outbox`. */
  table?: string;
  /** Key names whose values are masked before they are written, besides `password` and the like. */
  maskedKeys?: readonly string[];
  /** The tenant of events without one. */
  tenantId?: string;
}

/** Events in the transactions of one database library. */
export interface TransactionalAudit<Tx> {
  /**
   * Writes the event in the host's transaction: it is recorded if and only if that commits. Call it
   * after the change itself, so that events of one row stand in the order of its changes. Resolves
   * with the event's id. Throws InvalidEventError for an event that the service would refuse,
   * before anything is written, and what the database throws.
   */
  inTransaction(transaction: Tx, event: EventInput): Promise<string>;
  /** The same as a sink, for middleware and for code that does not know of transactions. */
  sink(transaction: Tx): AuditSink & { record(event: EventInput): Promise<string> };
}

export interface Outbox {
  /** SQL that creates the table, for the host's migrations; running it again changes nothing. */
  migration: string;
  with<Tx>(adapter: Adapter<Tx>): TransactionalAudit<Tx>;
  /** Delivers what was committed. Every process may run one: they take turns by a lock. */
  relay(options: RelayOptions): Relay;
}

/** Throws TypeError for a table's name that is not a lower-case identifier. */
export function createOutbox(options: OutboxOptions = {}): Outbox {
  const table = outboxTable(options.table ?? 'audit_outbox');
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
    relay: (relayOptions) => createRelay(table, relayOptions),
  };
}

/**
 * Judges what will be sent: the host's transaction is the place to learn that it would be refused.
 */
function checked(event: ReadyEvent): ReadyEvent {
  const context = { nowMs: Date.now(), boundTenantId: undefined };
  const { refusal } = judgeEvent(JSON.parse(event.text), context);
  if (refusal === undefined) return event;
  throw new InvalidEventError(refusal.code, refusal.detail, refusal.errors);
}
