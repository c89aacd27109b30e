import { type Deferred, deferred } from '../delivery/hold.ts';

/** The recorder's progress, for `flush`. */
interface Progress {
  /** The lowest number of an event in memory or being sent. */
  firstNumber: number;
  /** How often sending has failed so far. */
  troubles: number;
  /** Whether events can move from memory to disk. */
  hasDisk: boolean;
  /** How many events entered the spool, and how many of them are there. */
  appended: number;
  spooled: number;
}

interface Waiter extends Deferred {
  /** The last event that the caller waits for. */
  number: number;
  /** How many events must have left the spool; null until the last awaited one is in it. */
  spoolTarget: number | null;
  troubles: number;
}

/** Callers of `flush`; each waits for the events recorded before its call. */
export class FlushWaiters {
  readonly #waiters = new Set<Waiter>();

  get isEmpty(): boolean {
    return this.#waiters.size === 0;
  }

  wait(number: number, troubles: number): Promise<void> {
    const waiter = { number, troubles, spoolTarget: null, ...deferred() };
    this.#waiters.add(waiter);
    return waiter.promise;
  }

  tell(progress: Progress): void {
    for (const waiter of this.#waiters) if (isFlushed(waiter, progress)) this.#release(waiter);
  }

  releaseAll(): void {
    for (const waiter of this.#waiters) this.#release(waiter);
  }

  #release(waiter: Waiter): void {
    this.#waiters.delete(waiter);
    waiter.resolve();
  }
}

function isFlushed(waiter: Waiter, progress: Progress): boolean {
  const isInMemory = progress.firstNumber <= waiter.number;
  const hasFailed = progress.troubles > waiter.troubles;
  if (isInMemory) return hasFailed && !progress.hasDisk;
  // First in, first out: everything awaited is among the events in the spool so far.
  waiter.spoolTarget ??= progress.appended;
  return hasFailed || progress.appended - progress.spooled >= waiter.spoolTarget;
}
