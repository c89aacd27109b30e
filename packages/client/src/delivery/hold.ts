import { errorOf } from '../error-of.ts';
import { backoffMs } from '../http/errors.ts';
import type { Trouble } from './deliver-batch.ts';

// A key is hardly replaced sooner, and each attempt is another refused call.
const refusedMs = 30_000;

/** Milliseconds until everything is sent again; `failures` one after the other, this one too. */
export function waitMs(kind: Trouble['kind'], failures: number): number {
  return kind === 'refused' ? refusedMs : backoffMs(failures + 1, Math.random(), 0);
}

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

/** A log is hardly repaired or unblocked sooner. */
const holdMsMin = 500;

/** Tenants whose logs refused events: their events wait, other tenants continue. */
export class Hold {
  readonly tenants = new Set<string>();
  #untilMs = 0;
  #times = 0;

  /** Returns the milliseconds until all of them are retried; longer each time. */
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

  /** Releases all of them when their time is over; returns whether it did. */
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
