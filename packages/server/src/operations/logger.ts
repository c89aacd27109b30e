import pino, { type Logger } from 'pino';
import { findingOf } from '../postgres/embedded/error-code.ts';

/**
 * The service's log: JSON lines on standard error. Errors are reduced to message and location:
 * those of `pg` contain the client, its connection and the refused row.
 */
export function openLogger(level: string): Logger {
  const options = { level, base: null, serializers: { err: describeError } };
  const destination = pino.destination({ fd: 2, sync: true });
  // A closed terminal or a full disk must not end the service.
  destination.on('error', () => {});
  return pino(options, destination);
}

/**
 * Name, SQLSTATE or system code, message and stack of an error; no other property, except that the
 * operator's finding is the message. Libraries and threads also throw objects that only look like
 * errors.
 */
export function describeError(error: unknown): Record<string, unknown> {
  if (!isErrorLike(error)) return { message: `something that is no error: ${typeof error}` };
  const { name: type = 'Error', code, stack = '' } = error;
  const message = findingOf(error) ?? messageOf(error);
  if (!quotesInput(error)) return { type, code, message, stack };
  const withheld = 'withheld, because it may quote what was sent';
  return { type, code, message: withheld, stack: stack.replaceAll(message, withheld) };
}

interface ErrorLike {
  name?: string;
  message: string;
  code?: unknown;
  stack?: string;
  errors?: unknown[];
}

function isErrorLike(error: unknown): error is ErrorLike {
  return typeof (error as ErrorLike | null)?.message === 'string';
}

// If every address of a name failed, only the single attempts have messages.
function messageOf({ message, errors = [] }: ErrorLike): string {
  return [message, ...errors.filter(isErrorLike).map(messageOf)].filter(Boolean).join('; ');
}

// `invalid input syntax for type uuid: "..."`, and `Unexpected token 'a', "..." is not valid JSON`.
function quotesInput({ name, code }: ErrorLike): boolean {
  return name === 'SyntaxError' || /^22...$/.test(String(code));
}
