import type { EventInput } from './api-types.ts';

/** What belongs to the recording of an event without being part of it. */
export interface RecordContext {
  /** `[\w-]{8,64}`: names the call in the service's log; a sink that makes no call ignores it. */
  requestId?: string;
}

/**
 * Where events go: a client, a recorder, an outbox bound to a transaction, or a capture in tests.
 * What `record` returns is the sink's own affair; who only hands events over needs not know it.
 */
export interface AuditSink {
  record(event: EventInput, context?: RecordContext): unknown;
}
