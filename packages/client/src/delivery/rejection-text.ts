import type { FieldProblem } from '@indelible/protocol';

/** Why an event was refused: the message, and the wrong fields. */
export function rejectionText(error: Error & { errors: readonly FieldProblem[] }): string {
  const fields = error.errors.map(({ path, message }) => `${path} ${message}`);
  return [error.message, ...fields].join('; ');
}
