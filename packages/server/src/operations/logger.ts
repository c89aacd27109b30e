import pino, { type Logger } from 'pino';

/**
 * The service's log: JSON lines on standard error. Of an error only what it says and where: those
 * of `pg` carry the client, its connection and the row that was refused.
 */
export function openLogger(level: string, fd = 2): Logger {
  const options = { level, base: null, serializers: { err: describeError } };
  return pino(options, pino.destination({ fd, sync: true }));
}

/** Name, SQLSTATE or system code, message and stack of an error; no other property of it. */
export function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: typeof error };
  const { name: type, message, stack = '' } = error;
  const code = 'code' in error ? error.code : undefined;
  if (!quotesInput(error, code)) return { type, code, message, stack };
  const withheld = 'withheld, because it may quote what was sent';
  return { type, code, message: withheld, stack: stack.replaceAll(message, withheld) };
}

// `invalid input syntax for type uuid: "..."`, and `Unexpected token 'a', "..." is not valid JSON`.
function quotesInput(error: Error, code: unknown): boolean {
  return error instanceof SyntaxError || /^22...$/.test(String(code));
}
