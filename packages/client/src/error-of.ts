/** What was thrown, as an Error. */
export function errorOf(cause: unknown): Error {
  try {
    return cause instanceof Error ? cause : new Error(String(cause));
  } catch {
    return new Error('something was thrown that has no text');
  }
}
