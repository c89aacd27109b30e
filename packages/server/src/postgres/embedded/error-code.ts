/** The code of a system error (`ENOENT`) or a PostgreSQL error (SQLSTATE), if it has one. */
export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/** For a read of a file that may be absent. */
export function nullIfMissing(error: unknown): null {
  if (codeOf(error) === 'ENOENT') return null;
  throw error;
}

export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

/** What an answer to a caller leaves out, and the operator needs, such as an unreadable object. */
export const findingOf = (error: unknown): string | undefined =>
  error instanceof Error && 'finding' in error && typeof error.finding === 'string'
    ? error.finding
    : undefined;

/** The first line of its message. */
export const reasonOf = (error: unknown): string => messageOf(error).split('\n', 1)[0] ?? '';
