const firstMs = 200;
const longestMs = 10_000;

/** If the service asks for a longer pause, the call fails instead. */
export const retryAfterMaxMs = 60_000;

/**
 * Milliseconds before attempt `attempt + 1`, with `attempt` from 1: exponential with full jitter
 * (`random` from 0 to 1), so that many clients do not retry at once, but never earlier than the
 * service asked for.
 */
export function backoffMs(attempt: number, random: number, retryAfterMs: number): number {
  const ceiling = Math.min(longestMs, firstMs * 2 ** (attempt - 1));
  return retryAfterMs + Math.round(ceiling * random);
}
