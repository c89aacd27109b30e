/* The duration of a session, in milliseconds. */

export const idleMs = 30 * 60_000;
export const longestMs = 8 * 3_600_000;

/** The least time between extensions of a session: not every read should be a write. */
const prolongEveryMs = 10_000;

/** The ends of a session that begins now: when unused, and at the latest. */
export function endsOf(nowMs: number, latestEndMs: number | null) {
  const expiresAtMs = Math.min(nowMs + longestMs, latestEndMs ?? Infinity);
  return { idleExpiresAtMs: Math.min(nowMs + idleMs, expiresAtMs), expiresAtMs };
}

/** The new end of an unused session after a use; null if it need not be stored. */
export function prolongedTo(
  nowMs: number,
  session: { idleExpiresAtMs: number; expiresAtMs: number },
): number | null {
  const until = Math.min(nowMs + idleMs, session.expiresAtMs);
  const last = until === session.expiresAtMs && session.idleExpiresAtMs < until;
  return last || until - session.idleExpiresAtMs >= prolongEveryMs ? until : null;
}
