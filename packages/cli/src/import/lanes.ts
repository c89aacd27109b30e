/** An event waiting in a lane. */
export interface Queued {
  tenantId: string;
  text: string;
}

export interface LaneLimits {
  lanes: number;
  batchEventsMax: number;
  batchBytesMax: number;
  /** Waiting and in flight; text in characters. */
  queuedEventsMax: number;
  queuedTextMax: number;
}

interface Lane<T> {
  queue: T[];
  busy: boolean;
}

/**
 * Sends events in batches; each lane has one batch in flight. All events of a tenant are in one
 * lane, in order, so batches of a tenant cannot overtake each other, while different tenants are
 * sent in parallel. A lane sends its waiting events as soon as its last batch is answered: batches
 * are large if the service is slower, and a slow source is passed on at once.
 */
export class Lanes<T extends Queued> {
  readonly #limits: LaneLimits;
  readonly #send: (batch: T[]) => Promise<void>;
  readonly #lanes: Lane<T>[];
  readonly #laneOf = new Map<string, Lane<T>>();
  #events = 0;
  #text = 0;
  #failure: { error: unknown } | null = null;
  #changed = Promise.withResolvers<void>();

  /** `send` settles every event of its batch; after it throws, nothing more is sent. */
  constructor(limits: LaneLimits, send: (batch: T[]) => Promise<void>) {
    this.#limits = limits;
    this.#send = send;
    this.#lanes = Array.from({ length: limits.lanes }, () => ({ queue: [], busy: false }));
  }

  add(event: T): void {
    const lane = this.#laneFor(event.tenantId);
    this.#events += 1;
    this.#text += event.text.length;
    lane.queue.push(event);
    if (lane.busy) return;
    lane.busy = true;
    // Later, so that the rest of the current input joins the same batch.
    setImmediate(() => void this.#run(lane));
  }

  /** Whether reading should pause: see `room`. */
  get full(): boolean {
    const { queuedEventsMax, queuedTextMax } = this.#limits;
    const over = this.#events >= queuedEventsMax || this.#text >= queuedTextMax;
    return over || this.#failure !== null;
  }

  /** Waits until there is room for another event. Throws errors of `send`. */
  async room(): Promise<void> {
    await this.#until(() => !this.full);
  }

  /** Waits until every event is settled. Throws errors of `send`. */
  async drained(): Promise<void> {
    await this.#until(() => this.#events === 0);
    this.#throwFailure();
  }

  /** Drops waiting events; waits for batches in flight, with any outcome. */
  async dropWaiting(): Promise<void> {
    for (const lane of this.#lanes) this.#release(lane.queue.splice(0));
    while (this.#lanes.some(({ busy }) => busy)) await this.#changed.promise;
  }

  /** Tenants are dealt out to the lanes in turn. */
  #laneFor(tenantId: string): Lane<T> {
    const known = this.#laneOf.get(tenantId);
    const lane = known ?? this.#lanes[this.#laneOf.size % this.#lanes.length];
    if (lane === undefined) throw new RangeError('there must be a lane');
    this.#laneOf.set(tenantId, lane);
    return lane;
  }

  async #run(lane: Lane<T>): Promise<void> {
    while (lane.queue.length > 0 && this.#failure === null) {
      const batch = this.#takeBatch(lane);
      try {
        await this.#send(batch);
      } catch (error) {
        this.#failure ??= { error };
      }
      this.#release(batch);
    }
    lane.busy = false;
    this.#announce();
  }

  #takeBatch({ queue }: Lane<T>): T[] {
    const { batchEventsMax, batchBytesMax } = this.#limits;
    let bytes = 0;
    let count = 0;
    for (const event of queue) {
      bytes += Buffer.byteLength(event.text) + 1;
      if (count === batchEventsMax || (count > 0 && bytes > batchBytesMax)) break;
      count += 1;
    }
    return queue.splice(0, count);
  }

  #release(events: readonly T[]): void {
    this.#events -= events.length;
    for (const { text } of events) this.#text -= text.length;
    this.#announce();
  }

  #announce(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  async #until(isDone: () => boolean): Promise<void> {
    while (!isDone()) {
      this.#throwFailure();
      await this.#changed.promise;
    }
  }

  #throwFailure(): void {
    if (this.#failure !== null) throw this.#failure.error;
  }
}
