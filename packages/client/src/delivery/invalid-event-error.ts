import { type ErrorCode, eventBytesMax, type FieldProblem, inKib } from '@indelible/protocol';

/**
 * The service would refuse this event, so it was not even kept.
 * There is no `status` on purpose: frameworks answer with an error's
 * status, and this is a fault of the host's code, not of a request.
 */
export class InvalidEventError extends Error {
  override readonly name = 'InvalidEventError';
  readonly code: ErrorCode;
  /** Every field that is wrong. */
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
