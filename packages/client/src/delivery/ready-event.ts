import {
  type ErrorCode,
  type EventContext,
  eventBytesMax,
  type FieldProblem,
  inKib,
} from '@indelible/protocol';
import type { EventInput } from '../api-types.ts';
import { errorOf } from '../error-of.ts';
import { createOutgoing, type OutgoingOptions } from '../event/outgoing-event.ts';
import { TooLongError } from '../event/plain-json.ts';

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
      if (cause instanceof TooLongError) throw tooLarge;
      const { message } = errorOf(cause);
      throw new InvalidEventError('validation_failed', `the event cannot be sent: ${message}`);
    }
  };
}

/*
 * Reads events from a file or table that other programs may have changed. Never throws: a bad line
 * must not stop the delivery of the others.
 */

/** The event of a JSON text; an empty object if it is not an event. */
export function eventOf(text: string): Partial<EventInput> {
  try {
    const event: unknown = JSON.parse(text);
    return typeof event === 'object' && event !== null ? event : {};
  } catch {
    return {}; // the service says what is wrong with it
  }
}

/** The event's tenant in lower case; '' if the credential decides. */
export function tenantOf(text: string): string {
  const { tenantId } = eventOf(text);
  return typeof tenantId === 'string' ? tenantId.toLowerCase() : '';
}

/**
 * The service would refuse this event, so it was not stored. It has no `status`: frameworks answer
 * with an error's status, but this is a bug of the host product, not of a request.
 */
export class InvalidEventError extends Error {
  override readonly name = 'InvalidEventError';
  readonly code: ErrorCode;
  readonly errors: readonly FieldProblem[];

  constructor(code: ErrorCode, detail: string, errors: readonly FieldProblem[] = []) {
    super(detail);
    this.code = code;
    this.errors = errors;
  }
}

export const tooLarge = new InvalidEventError(
  'payload_too_large',
  `the event is larger than ${inKib(eventBytesMax)}`,
);

/** Throws TypeError for a name that cannot be the first part of a `source.id`, or a folder. */
export function requireSourceName(name: string | undefined): void {
  if (name === undefined || /^[a-z0-9][a-z0-9._-]{0,63}$/i.test(name)) return;
  throw new TypeError(
    `the source ${JSON.stringify(name)} is not a name of letters, digits, ".", "_" and "-"`,
  );
}

/**
 * The `source.id` for a tenant. Events that name no tenant (`''`) have numbers of their own: their
 * tenant may be one that other events name, and a number that two events share would hide a loss.
 */
export const sourceOf = (source: string, tenantId: string): string =>
  tenantId === '' ? `${source}/default` : source;
