/** The code of a system error (`ENOENT`) or a PostgreSQL error (SQLSTATE), if it has one. */
export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

/** The first line of its message. */
export const reasonOf = (error: unknown): string => messageOf(error).split('\n', 1)[0] ?? '';
