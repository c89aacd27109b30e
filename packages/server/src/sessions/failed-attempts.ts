import { RecentMap } from '../http/recent-map.ts';

const failuresMax = 30;
const windowMs = 60_000;
const addressesMax = 10_000;

/**
 * Counts failed sign-ins by address. Above the limit further failures answer 429. A valid sign-in
 * always works: behind one address there may be a whole tenant, or, behind an unconfigured proxy,
 * all of them. Guessing needs no limit: a token has 256 random bits.
 */
export class FailedAttempts {
  readonly #windows = new RecentMap<{ endsMs: number; count: number }>(addressesMax);

  /** Counts a failure; returns the seconds to wait after too many in a minute, else null. */
  add(address: string, nowMs: number): number | null {
    const known = this.#windows.get(address);
    const open = known && known.endsMs > nowMs ? known : { endsMs: nowMs + windowMs, count: 0 };
    open.count++;
    this.#windows.set(address, open);
    return open.count > failuresMax ? Math.ceil((open.endsMs - nowMs) / 1_000) : null;
  }
}
