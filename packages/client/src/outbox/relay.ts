import { batchEventsMax } from '@indelible/protocol';
import type { EventInput } from '../api-types.ts';
import { type BatchClient, emptyMemory, endedBy } from '../delivery/deliver-batch.ts';
import { given } from '../delivery/given.ts';
import { deferred, Hold, tell, warn, warnRejected } from '../delivery/hold.ts';
import { errorOf } from '../error-of.ts';
import type { IndelibleError } from '../http/errors.ts';
import { type PoolLike, RelaySession } from './relay-session.ts';
import { countRows, type OutboxTable } from './store.ts';
import { type Sweep, sweepOutbox } from './sweep.ts';

export interface RelayOptions {
  /** A pg `Pool` of the host's database; the relay uses one connection while it runs. */
  pool: PoolLike;
  client: BatchClient;
  /** Events per call, 1 to 1,000; default 1,000. */
  batchMax?: number;
  /** Interval between looks at the table; default 250 ms. */
  pollMs?: number;
  /** Interval at which a waiting relay tries to take the lock; default 1,000 ms. */
  standbyMs?: number;
  /**
   * An event that the service will never accept, that a firewall refuses for its content, or that
   * failed alone for a day. It stays in the table, marked with the reason. May be reported again
   * after a crash.
   */
  onRejected?: (event: EventInput, error: IndelibleError) => void;
  /** The relay has to wait: no service, a refused key, no database. */
  onError?: (error: Error) => void;
}

export interface Relay {
  /** Relays in the background until `stop`; a second call has no effect. */
  start(): void;
  /**
   * Resolves when every event committed before the call is delivered or rejected, by this relay or
   * another one. Waits as long as the service is unavailable. Starts the relay for that time if it
   * is not running. Rejects if the relay is stopped first.
   */
  drain(): Promise<void>;
  /**
   * Finishes the current batch, then another relay can take over. Without an answer to it for
   * `timeoutMs` (10 s), it ends the call; the next relay sends that batch again.
   */
  stop(options?: { timeoutMs?: number }): Promise<void>;
  /** The numbers of waiting and rejected events, each counted up to 100,000. */
  backlog(): Promise<{ due: number; rejected: number }>;
}

/** From `start` or `drain` to `stop`. */
interface Run {
  isStopped: boolean;
  ended: Promise<void>;
  /** Ends the call of the current batch, whose rows are then sent again. */
  call: AbortController;
}

interface Drain {
  run: Run;
  /** The first round of the loop whose result counts: an earlier one may have read too early. */
  fromRound: number;
  resolve: () => void;
  reject: (error: Error) => void;
}

export class OutboxRelay implements Relay {
  readonly #table: OutboxTable;
  readonly #options: Required<RelayOptions>;
  readonly #session: RelaySession;
  readonly #drains = new Set<Drain>();
  readonly #hold = new Hold();
  readonly #memory = emptyMemory();
  #round = 0;
  #run: Run | null = null;
  /** Whether the host started it; `drain` can also run it. */
  #isStarted = false;
  /** Set by a call during a round: skips the next pause. */
  #isWoken = false;
  #endPause: () => void = () => {};

  constructor(table: OutboxTable, options: RelayOptions) {
    const defaults = { batchMax: batchEventsMax, pollMs: 250, standbyMs: 1_000 };
    const onRejected = ({ id }: EventInput, { message }: IndelibleError) =>
      warnRejected(`the audit event ${id} was refused: ${message}`);
    const onError = ({ message }: Error) => warn(`audit outbox: ${message}`);
    this.#options = { ...defaults, onRejected, onError, ...given(options) };
    const { batchMax, pollMs, standbyMs } = this.#options;
    // Without a pause it would query the database continuously.
    if (!(pollMs > 0 && standbyMs > 0)) {
      throw new RangeError('pollMs and standbyMs must be more than 0');
    }
    if (!Number.isInteger(batchMax) || batchMax < 1 || batchMax > batchEventsMax) {
      throw new RangeError(`batchMax must be a whole number from 1 to ${batchEventsMax}`);
    }
    this.#table = table;
    this.#session = new RelaySession(options.pool, table);
  }

  start(): void {
    this.#isStarted = true;
    this.#begin();
  }

  async drain(): Promise<void> {
    const { promise, resolve, reject } = deferred();
    this.#drains.add({ run: this.#begin(), fromRound: this.#round + 1, resolve, reject });
    this.#wake();
    await promise;
    if (!this.#isStarted && this.#drains.size === 0) await this.stop();
  }

  async stop({ timeoutMs = 10_000 } = {}): Promise<void> {
    this.#isStarted = false;
    if (this.#run === null) return;
    this.#run.isStopped = true;
    this.#wake();
    const { call, ended } = this.#run;
    const timer = setTimeout(() => call.abort(), timeoutMs);
    await ended;
    clearTimeout(timer);
  }

  /** The current run; if that is stopping, a new one after it has ended. */
  #begin(): Run {
    if (this.#run !== null && !this.#run.isStopped) return this.#run;
    const call = new AbortController();
    const run: Run = { isStopped: false, ended: Promise.resolve(), call };
    run.ended = (this.#run?.ended ?? Promise.resolve()).then(() => this.#work(run));
    this.#run = run;
    return run;
  }

  async backlog(): Promise<{ due: number; rejected: number }> {
    const { pool } = this.#options;
    const connection = await pool.connect();
    try {
      return await countRows((text, values) => connection.query(text, values), this.#table);
    } finally {
      connection.release();
    }
  }

  async #work(run: Run): Promise<void> {
    while (!run.isStopped) {
      this.#round += 1;
      this.#isWoken = false;
      const pauseMs = await this.#once(run).catch((error: unknown) => this.#databaseFailed(error));
      if (pauseMs > 0 && !run.isStopped) await this.#pause(pauseMs);
    }
    await this.#session.end();
    if (this.#run === run) this.#run = null;
    for (const drain of this.#drains) {
      if (drain.run !== run) continue;
      this.#drains.delete(drain);
      drain.reject(new Error('the relay was stopped'));
    }
  }

  /** One look at the table. Returns the milliseconds until the next. */
  async #once(run: Run): Promise<number> {
    const round = this.#round;
    if (!(await this.#session.hold())) return this.#standBy(round);
    this.#hold.endIfOver(performance.now());
    const { trouble, heldTenants, reachedEnd, lookMs } = await this.#sweep(run);
    if (trouble !== null && !run.call.signal.aborted)
      tell(() => this.#options.onError(trouble.error));
    const waitMs = this.#hold.after(trouble, () => heldTenants, performance.now());
    if (trouble?.scope === 'all') return waitMs;
    if (!reachedEnd) return 0;
    this.#hold.forget();
    if (this.#hold.tenants.size === 0) this.#drained(round);
    // Skipping waiting rows costs the host's database as much as reading them: at most a fifth of
    // the time.
    return Math.max(this.#options.pollMs, 4 * lookMs);
  }

  #sweep(run: Run): Promise<Sweep> {
    const { client, batchMax, onRejected } = this.#options;
    return sweepOutbox({
      query: (text, values) => this.#session.query(text, values),
      table: this.#table,
      client: endedBy(run.call.signal, client),
      memory: this.#memory,
      batchMax,
      heldTenants: [...this.#hold.tenants],
      onRejected: (event, error) => tell(() => onRejected(event, error)),
      isStopped: () => run.isStopped,
    });
  }

  /** Another relay works; the events that it delivers also count for callers of `drain`. */
  async #standBy(round: number): Promise<number> {
    const waited = [...this.#drains].some(({ fromRound }) => fromRound <= round);
    if (waited && (await this.backlog()).due === 0) this.#drained(round);
    return this.#options.standbyMs;
  }

  #databaseFailed(cause: unknown): number {
    const error = errorOf(cause);
    this.#session.abandon(error);
    tell(() => this.#options.onError(error));
    return this.#hold.failed({ kind: 'away', error }, performance.now());
  }

  #drained(round: number): void {
    for (const drain of this.#drains) {
      if (drain.fromRound > round) continue;
      this.#drains.delete(drain);
      drain.resolve();
    }
  }

  #wake(): void {
    this.#isWoken = true;
    this.#endPause();
  }

  async #pause(ms: number): Promise<void> {
    if (this.#isWoken) return;
    const { promise, resolve } = deferred();
    const timer = setTimeout(resolve, ms);
    this.#endPause = resolve;
    await promise;
    clearTimeout(timer);
  }
}
