import { type ErrorCode, eventBytesMax, type FieldProblem, inKib } from '@indelible/protocol';

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
