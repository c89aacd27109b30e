import { IndelibleError, UnreachableError } from '@indelible/client';

/** What the exit status of every command means. */
export const exitCodes = { fine: 0, finding: 1, usage: 2, unreachable: 3 } as const;

/** The call itself is wrong: an option, a file name, a missing key. */
export class UsageError extends Error {}

/** The command did its work and found something: damaged input, a start that failed. */
export class FindingError extends Error {}

/**
 * The status a command ends with after an error: what the service refuses (4xx) is wrong usage; one
 * that fails, is too busy or does not answer is unreachable.
 */
export function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError) return exitCodes.usage;
  if (error instanceof UnreachableError) return exitCodes.unreachable;
  if (!(error instanceof IndelibleError)) return exitCodes.finding;
  const refused = error.status >= 400 && error.status < 500 && error.status !== 429;
  return refused ? exitCodes.usage : exitCodes.unreachable;
}
