import { type Deferred, deferred } from '../delivery/hold.ts';
import type { PendingEvent } from './pending-events.ts';

/** A batch that is being sent from memory. */
export interface Flight {
  events: PendingEvent[];
  tenants: Set<string>;
  /** Its events are in memory or on disk again; its answer no longer counts. */
  isDisowned: boolean;
}

/** At most two batches at a time, of different tenants: no tenant's events overtake each other. */
export class Flights {
  readonly #flights = new Set<Flight>();
  #events = 0;
  #bytes = 0;

  /** Of flights that are not disowned. */
  get events(): number {
    return this.#events;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get isFull(): boolean {
    return this.#flights.size >= 2;
  }

  get isEmpty(): boolean {
    return this.#flights.size === 0;
  }

  busyTenants(): Set<string> {
    return new Set([...this.#flights].flatMap(({ tenants }) => [...tenants]));
  }

  begin(events: PendingEvent[]): Flight {
    const tenants = new Set(events.map(({ tenantId }) => tenantId));
    const flight = { events, tenants, isDisowned: false };
    this.#flights.add(flight);
    this.#count(events, 1);
    return flight;
  }

  end(flight: Flight): void {
    this.#flights.delete(flight);
    if (!flight.isDisowned) this.#count(flight.events, -1);
  }

  /** Takes the events back from every flight. */
  disown(): PendingEvent[] {
    const own = [...this.#flights].filter(({ isDisowned }) => !isDisowned);
    for (const flight of own) {
      flight.isDisowned = true;
      this.#count(flight.events, -1);
    }
    return own.flatMap(({ events }) => events);
  }

  /** The lowest number that is being sent; infinity if none is. */
  firstNumber(): number {
    let first = Number.POSITIVE_INFINITY;
    for (const { events, isDisowned } of this.#flights) {
      for (const { number } of isDisowned ? [] : events) first = Math.min(first, number);
    }
    return first;
  }

  #count(events: readonly PendingEvent[], sign: 1 | -1): void {
    this.#events += sign * events.length;
    for (const { bytes } of events) this.#bytes += sign * bytes;
  }
}

/** The recorder's progress, for `flush`. */
interface Progress {
  /** The lowest number of an event in memory or being sent. */
  firstNumber: number;
  /** How often sending has failed so far. */
  troubles: number;
  /** Whether events can move from memory to disk. */
  hasDisk: boolean;
  /** How many events entered the spool, and how many left it. */
  appended: number;
  settled: number;
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
  return hasFailed || progress.settled >= waiter.spoolTarget;
}
