import { IndelibleError, UnreachableError } from '@indelible/client';

/** The exit status of every command. */
export const exitCodes = { fine: 0, finding: 1, usage: 2, unreachable: 3 } as const;

/** The call is wrong: an option, a file name, a missing key. */
export class UsageError extends Error {}

/** The command ran and found a problem: damaged input, a failed start. */
export class FindingError extends Error {}

/**
 * The exit status after an error: a refusal of the service (4xx) is wrong usage; a failing, busy or
 * silent service is unreachable.
 */
export function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError) return exitCodes.usage;
  if (error instanceof UnreachableError) return exitCodes.unreachable;
  if (!(error instanceof IndelibleError)) return exitCodes.finding;
  const refused = error.status >= 400 && error.status < 500 && error.status !== 429;
  return refused ? exitCodes.usage : exitCodes.unreachable;
}
