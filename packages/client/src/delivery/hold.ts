import { errorOf } from '../error-of.ts';
import { askedMs, backoffMs } from '../http/errors.ts';
import type { Trouble } from './failure.ts';

/** Calls back the host: a callback that throws must not stop the delivery, nor reach a caller. */
export function tell(callBack: () => unknown): void {
  try {
    const told = callBack();
    // An unhandled rejection would end the process.
    if (told instanceof Promise) told.catch(callBackFailed);
  } catch (error) {
    callBackFailed(error);
  }
}

function callBackFailed(error: unknown): void {
  process.emitWarning(`audit delivery: a callback failed: ${errorOf(error).message}`);
}

const quietMs = 10_000;

/** Without a callback, warnings are printed, but at a limited rate. */
export function createWarning(): (message: string) => void {
  let unsaid = 0;
  let quietUntilMs = Number.NEGATIVE_INFINITY;
  return (message) => {
    if (performance.now() < quietUntilMs) {
      unsaid += 1;
      return;
    }
    quietUntilMs = performance.now() + quietMs;
    process.emitWarning(unsaid > 0 ? `${message} (and ${unsaid} more before)` : message);
    unsaid = 0;
  };
}

/** The warnings of recorder and relay, of each kind for itself. */
export const warnRejected = createWarning();
export const warn = createWarning();

// A key is hardly replaced sooner, and each attempt is another refused call.
const refusedMs = 30_000;
/** A log is hardly repaired or unblocked sooner. */
const holdMsMin = 500;

/** When to send again after a failure: everything, or the events of some tenants. */
export class Hold {
  /** Tenants whose events wait, while other tenants continue. */
  readonly tenants = new Set<string>();
  #untilMs = 0;
  #times = 0;
  #pausedUntilMs = 0;
  #failures = 0;

  /** Failures for everything, one after the other. */
  get failures(): number {
    return this.#failures;
  }

  /**
   * Takes the outcome of a delivery, and the tenants of events that must be sent again. Returns the
   * milliseconds until these are, or all; longer each time.
   */
  after(trouble: Trouble | null, tenants: () => Iterable<string>, nowMs: number): number {
    if (trouble?.scope === 'all') return this.failed(trouble, nowMs);
    this.#failures = 0;
    return trouble === null ? 0 : this.#add(tenants(), trouble, nowMs);
  }

  /** Everything waits, as long as the service asks for, a minute at most. */
  failed({ kind, error }: Omit<Trouble, 'scope'>, nowMs: number): number {
    this.#failures += 1;
    const ms = backoffMs(this.#failures + 1, Math.random(), askedMs(error));
    const pauseMs = kind === 'refused' ? Math.max(refusedMs, ms) : ms;
    this.#pausedUntilMs = nowMs + pauseMs;
    return pauseMs;
  }

  #add(tenants: Iterable<string>, { error }: Trouble, nowMs: number): number {
    if (this.tenants.size === 0) {
      this.#times += 1;
      const leastMs = Math.max(holdMsMin, askedMs(error));
      this.#untilMs = nowMs + backoffMs(this.#times + 1, Math.random(), leastMs);
    }
    for (const tenant of tenants) this.tenants.add(tenant);
    return Math.max(0, this.#untilMs - nowMs);
  }

  isPaused(nowMs: number): boolean {
    return nowMs < this.#pausedUntilMs;
  }

  /** Nothing waits any longer; held tenants from the next `endIfOver` on. */
  cut(): void {
    this.#pausedUntilMs = 0;
    this.#untilMs = 0;
  }

  /** Releases all tenants when their time is over; returns whether it did. */
  endIfOver(nowMs: number): boolean {
    if (this.tenants.size === 0 || nowMs < this.#untilMs) return false;
    this.tenants.clear();
    return true;
  }

  /** After the last waiting event: the next hold starts with the shortest time. */
  forget(): void {
    if (this.tenants.size === 0) this.#times = 0;
  }
}

export type Deferred = ReturnType<typeof deferred>;

/** `Promise.withResolvers`, which Node 20 does not have. */
export function deferred() {
  let resolve: () => void = () => {};
  let reject: (error: Error) => void = () => {};
  const promise = new Promise<void>((onResolve, onReject) => {
    [resolve, reject] = [onResolve, onReject];
  });
  return { promise, resolve, reject };
}
