/**
 * The time of an installation: PostgreSQL's, so that all processes agree even if their clocks
 * differ. Receipt times, leases, retention and expiry use it.
 */
export type Clock = ReturnType<typeof createClock>;

/**
 * `machine` may jump at any time. `steady` counts milliseconds and never jumps: between two
 * comparisons only it advances the time.
 */
export function createClock(
  machine: () => number = Date.now,
  steady: () => number = () => performance.now(),
) {
  let base = machine() - steady();
  const now = () => Math.floor(base + steady());
  return {
    /** Milliseconds since 1970. */
    now,
    /** How far this machine's clock is ahead of PostgreSQL's, in ms; negative: behind. */
    aheadMs: () => machine() - now(),
    /** Sets the clock; `ask` is `databaseTime`. Before that, this machine's clock is used. */
    async compare(ask: () => Promise<number>) {
      const asked = steady();
      const time = await ask();
      // PostgreSQL read its clock between question and answer. A time within that interval stays
      // unchanged, so that round trips do not move it back and forth.
      base = Math.min(Math.max(base, time - steady()), time - asked);
    },
  };
}
