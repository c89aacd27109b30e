import type { EventInput } from './api-types.ts';

/** Context of a recording call that is not part of the event. */
export interface RecordContext {
  /** `[\w-]{8,64}`: the request id in the service's log; ignored by sinks without a call. */
  requestId?: string;
  /** Ends the call, which then rejects with the signal's reason. The event may be recorded. */
  signal?: AbortSignal | undefined;
  /** Fewer attempts of the call than those of the client. */
  attempts?: number;
}

/**
 * Receives events: a client, a recorder, an outbox bound to a transaction, or a capture in tests.
 * The result of `record` depends on the sink; generic code ignores it.
 */
export interface AuditSink {
  record(event: EventInput, context?: RecordContext): unknown;
}
