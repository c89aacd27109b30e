const failuresMax = 30;
const windowMs = 60_000;
const addressesMax = 10_000;

/**
 * Counts failed sign-ins by address. Above the limit further failures answer 429. A valid sign-in
 * always works: behind one address there may be a whole tenant, or, behind an unconfigured proxy,
 * all of them. Guessing needs no limit: a token has 256 random bits.
 */
export class FailedAttempts {
  readonly #windows = new Map<string, { endsMs: number; count: number }>();

  /** Counts a failure; returns the seconds to wait after too many in a minute, else null. */
  add(address: string, nowMs: number): number | null {
    const known = this.#windows.get(address);
    const open = known && known.endsMs > nowMs ? known : { endsMs: nowMs + windowMs, count: 0 };
    open.count++;
    this.#windows.delete(address); // to the end of the map's order: the first one failed longest ago
    this.#windows.set(address, open);
    const [oldest] = this.#windows.keys();
    if (this.#windows.size > addressesMax && oldest !== undefined) this.#windows.delete(oldest);
    return open.count > failuresMax ? Math.ceil((open.endsMs - nowMs) / 1_000) : null;
  }
}
