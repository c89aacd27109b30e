import { type Deferred, deferred } from '../delivery/deferred.ts';

/** How far everything has come, as those who flush look at it. */
export interface Progress {
  /** The lowest number of an event in memory or under way. */
  firstNumber: number;
  /** How often sending has failed so far. */
  troubles: number;
  /** Whether events can leave memory for the disk. */
  hasDisk: boolean;
  /** Events that ever came to the spool, and that have left it. */
  appended: number;
  settled: number;
}

interface Waiter extends Deferred {
  /** The last event that is waited for. */
  number: number;
  /** How many events must have left the spool; null until the last one waited for is in it. */
  spoolTarget: number | null;
  troubles: number;
}

/** Those who wait in `flush`, each for the events that were recorded before it asked. */
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
  // First in, first out: what came to the spool so far includes everything that is waited for.
  waiter.spoolTarget ??= progress.appended;
  return hasFailed || progress.settled >= waiter.spoolTarget;
}
