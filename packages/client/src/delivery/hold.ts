import { backoffMs } from '../http/backoff.ts';

/** Nobody mends a log, and hardly frees one, in less time than this. */
const holdMsMin = 500;

/**
 * Tenants whose logs took nothing when they were last asked: their events wait, the others go on.
 */
export class Hold {
  readonly tenants = new Set<string>();
  #untilMs = 0;
  #times = 0;

  /** Returns in how many milliseconds all of them are tried again; longer each time. */
  add(tenants: Iterable<string>, nowMs: number): number {
    if (this.tenants.size === 0) {
      this.#times += 1;
      this.#untilMs = nowMs + backoffMs(this.#times + 1, Math.random(), holdMsMin);
    }
    for (const tenant of tenants) this.tenants.add(tenant);
    return Math.max(0, this.#untilMs - nowMs);
  }

  /** The next `endIfOver` ends it. */
  cut(): void {
    this.#untilMs = 0;
  }

  /** Lets all of them go when their time is up; returns whether it did. */
  endIfOver(nowMs: number): boolean {
    if (this.tenants.size === 0 || nowMs < this.#untilMs) return false;
    this.tenants.clear();
    return true;
  }

  /** Nothing waits any more: the next hold is a first one again. */
  forget(): void {
    if (this.tenants.size === 0) this.#times = 0;
  }
}
