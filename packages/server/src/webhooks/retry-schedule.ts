const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

/** Pauses after the first, second, … failed attempt of a message, by Standard Webhooks. */
export const retryPausesMs: readonly number[] = [
  ...[5 * second, 5 * minute, 30 * minute],
  ...[2 * hour, 5 * hour, 10 * hour, 10 * hour],
];

const longestMs = Math.max(...retryPausesMs);

/**
 * The pause after this failed attempt (from 1), or null after the last. It is never shorter than
 * the receiver asks (`Retry-After`), but a receiver cannot ask for more than the longest pause.
 * `chance` from 0 up to 1 varies it by a tenth, so that webhooks that failed together are not
 * retried together.
 */
export function pauseAfter(attempt: number, retryAfterMs: number, chance: number): number | null {
  const pause = retryPausesMs[attempt - 1];
  if (pause === undefined) return null;
  const asked = Math.min(retryAfterMs, longestMs) * (1 + 0.1 * chance);
  return Math.round(Math.max(pause * (0.9 + 0.2 * chance), asked));
}
