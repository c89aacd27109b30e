/* How long somebody stays signed in, in milliseconds. */

export const idleMs = 30 * 60_000;
export const longestMs = 8 * 3_600_000;

/** A session in use is prolonged at most this often: not every read shall be a write too. */
const prolongEveryMs = 10_000;

/** The ends of a session that begins now: unused, and at the latest. No later than its token's. */
export function endsOf(nowMs: number, tokenEndsMs: number | null) {
  const expiresAtMs = Math.min(nowMs + longestMs, tokenEndsMs ?? Infinity);
  return { idleExpiresAtMs: Math.min(nowMs + idleMs, expiresAtMs), expiresAtMs };
}

/**
 * When an unused session ends now that it was used, or null while that need not be written down.
 */
export function prolongedTo(
  nowMs: number,
  session: { idleExpiresAtMs: number; expiresAtMs: number },
): number | null {
  const until = Math.min(nowMs + idleMs, session.expiresAtMs);
  const last = until === session.expiresAtMs && session.idleExpiresAtMs < until;
  return last || until - session.idleExpiresAtMs >= prolongEveryMs ? until : null;
}
