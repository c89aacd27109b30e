/**
 * The time of an installation: PostgreSQL's, so that all processes agree on it, whatever the clocks
 * of their machines say. Receipt times, leases, retention and expiry go by it.
 */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** How far the clock of this machine is ahead of PostgreSQL's, in ms; negative: behind. */
  aheadMs(): number;
  /** Sets the clock; `ask` is `databaseTime`. Before the first time this machine's clock counts. */
  compare(ask: () => Promise<number>): Promise<void>;
}

/**
 * `machine` may be set back or ahead at any moment. `steady` counts milliseconds and never jumps:
 * between two comparisons it alone moves the time on.
 */
export function createClock(
  machine: () => number = Date.now,
  steady: () => number = () => performance.now(),
): Clock {
  let base = machine() - steady();
  const now = () => Math.floor(base + steady());
  return {
    now,
    aheadMs: () => machine() - now(),
    async compare(ask) {
      const asked = steady();
      const time = await ask();
      // PostgreSQL looked at its clock at some moment in between. A clock that agrees with that
      // stays as it is: how long question and answer take must not move it to and fro.
      base = Math.min(Math.max(base, time - steady()), time - asked);
    },
  };
}
