import type { EventContext } from '@indelible/protocol';
import type { EventInput } from '../api-types.ts';
import { createOutgoing, type OutgoingOptions } from '../event/outgoing-event.ts';
import { InvalidEventError } from './invalid-event-error.ts';

/** An event as it will be sent, at every attempt. */
export interface ReadyEvent {
  id: string;
  /** In lower case; empty if the credential decides. */
  tenantId: string;
  /** JSON, with id and tenant, without secrets. */
  text: string;
}

/** A source's number for an event of this tenant. */
export type SourceStamp = NonNullable<EventContext['source']>;

/**
 * Prepares events: adds an id, so that retries record once, and masks secrets before the event is
 * written to a disk or table. Throws InvalidEventError if the value is not an object or cannot be
 * JSON.
 */
export function createReadying(
  options: OutgoingOptions,
  stamp: (tenantId: string) => SourceStamp | undefined = () => undefined,
): (event: EventInput) => ReadyEvent {
  const outgoing = createOutgoing(options);
  return (event) => {
    try {
      const made = outgoing(event);
      const { id } = made;
      const tenantId = String(made.tenantId ?? '').toLowerCase();
      const source = made.source ?? stamp(tenantId);
      return { id, tenantId, text: JSON.stringify({ ...made, source }) };
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new InvalidEventError('validation_failed', `the event cannot be sent: ${why}`);
    }
  };
}
