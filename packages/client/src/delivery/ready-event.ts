import type { EventInput } from '../api-types.ts';
import { createOutgoing, type OutgoingOptions } from '../event/outgoing-event.ts';
import { InvalidEventError } from './invalid-event-error.ts';

/** An event as it will be sent, however often that takes. */
export interface ReadyEvent {
  id: string;
  /** In lower case; empty for an event that leaves it to the credential. */
  tenantId: string;
  /** JSON, with id and tenant and without secrets. */
  text: string;
}

/**
 * Makes events ready: an id now, so that no repetition records twice, and secrets masked before
 * anything is written to a disk or a table. Throws InvalidEventError for what is no object, and for
 * what JSON does not have.
 */
export function createReadying(options: OutgoingOptions): (event: EventInput) => ReadyEvent {
  const outgoing = createOutgoing(options);
  return (event) => {
    try {
      const made = outgoing(event);
      const { id, tenantId = '' } = made;
      return { id, tenantId: String(tenantId).toLowerCase(), text: JSON.stringify(made) };
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new InvalidEventError('validation_failed', `the event cannot be sent: ${why}`);
    }
  };
}
