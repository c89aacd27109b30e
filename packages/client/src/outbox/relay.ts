import type { EventInput } from '../api-types.ts';
import { backoffMs } from '../backoff.ts';
import { deferred } from '../delivery/deferred.ts';
import type { BatchClient, Trouble } from '../delivery/deliver-batch.ts';
import type { IndelibleError } from '../errors.ts';
import { type PoolLike, RelaySession } from './relay-session.ts';
import { countRows, type OutboxTable } from './store.ts';
import { type Sweep, sweepOutbox } from './sweep.ts';

export interface RelayOptions {
  /** A pg `Pool` on the host's database; one of its connections is the relay's while it runs. */
  pool: PoolLike;
  client: BatchClient;
  /** Events a call, 1 to 1,000; 1,000. */
  batchMax?: number;
  /** How soon a committed event is looked for; 250 ms. */
  pollMs?: number;
  /** How soon a relay that waits for another one asks again whether it is gone; 1,000 ms. */
  standbyMs?: number;
  /**
   * An event that the service will never take. It stays in the table, marked with the reason. After a
   * crash it may be told once more.
   */
  onRejected?: (event: EventInput, error: IndelibleError) => void;
  /** Anything that makes the relay wait: no service, a refused key, no database. */
  onError?: (error: Error) => void;
}

export interface Relay {
  /** Relays in the background until `stop`; a second call changes nothing. */
  start(): void;
  /**
   * Resolves once every event committed before the call is delivered or set aside, by this relay or
   * another one, however long the service is away; starts the relay for that long if it is not running.
   * Rejects when the relay is stopped first.
   */
  drain(): Promise<void>;
  /** Finishes the batch under way, and lets another relay take over. */
  stop(): Promise<void>;
  /** How many events wait and how many were set aside; each counted to 100,000 at most. */
  backlog(): Promise<{ due: number; rejected: number }>;
}

const sweepRowsMax = 20_000;
// Below the 8 MiB of a call, and little enough to be read into memory at once.
const batchBytesMax = 4 * 2 ** 20;
const heldMs = 10_000;
// Nobody can mend a key faster than that, and each attempt is one more refused call.
const refusedMs = 30_000;
const countMax = 100_000;

interface Drain {
  /** The first round of the loop whose result counts: an earlier one may have looked too early. */
  fromRound: number;
  resolve: () => void;
  reject: (error: Error) => void;
}

export function createRelay(table: OutboxTable, options: RelayOptions): Relay {
  return new OutboxRelay(table, options);
}

class OutboxRelay implements Relay {
  readonly #table: OutboxTable;
  readonly #options: Required<RelayOptions>;
  readonly #session: RelaySession;
  readonly #drains: Drain[] = [];
  /** Tenants that wait for their log, each until a moment. */
  readonly #held = new Map<string, number>();
  #round = 0;
  #failures = 0;
  #running: Promise<void> | null = null;
  #stopped = false;
  /** Set by a call that came while the loop was at work: the next pause is left out. */
  #isWoken = false;
  #endPause: () => void = () => {};

  constructor(table: OutboxTable, options: RelayOptions) {
    const defaults = { batchMax: 1_000, pollMs: 250, standbyMs: 1_000 };
    const onRejected = (event: EventInput, error: IndelibleError) =>
      process.emitWarning(`the audit event ${event.id} was refused: ${error.message}`);
    const onError = (error: Error) => process.emitWarning(`audit outbox: ${error.message}`);
    this.#options = { ...defaults, onRejected, onError, ...options };
    const { batchMax } = this.#options;
    if (!Number.isInteger(batchMax) || batchMax < 1 || batchMax > 1_000) {
      throw new RangeError('batchMax is an integer from 1 to 1,000');
    }
    this.#table = table;
    this.#session = new RelaySession(options.pool, table);
  }

  start(): void {
    this.#stopped = false;
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
    });
  }

  async drain(): Promise<void> {
    const wasRunning = this.#running !== null;
    const { promise, resolve, reject } = deferred();
    this.#drains.push({ fromRound: this.#round + 1, resolve, reject });
    this.start();
    this.#wake();
    await promise;
    if (!wasRunning && this.#drains.length === 0) await this.stop();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#wake();
    await this.#running;
  }

  async backlog(): Promise<{ due: number; rejected: number }> {
    const { pool } = this.#options;
    const connection = await pool.connect();
    try {
      return await countRows(
        (text, values) => connection.query(text, values),
        this.#table,
        countMax,
      );
    } finally {
      connection.release();
    }
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      this.#round += 1;
      this.#isWoken = false;
      const pauseMs = await this.#once().catch((error: unknown) => this.#databaseFailed(error));
      if (pauseMs > 0) await this.#pause(pauseMs);
    }
    await this.#session.end();
    for (const { reject } of this.#drains.splice(0)) reject(new Error('the relay was stopped'));
  }

  /** One look at the table. Returns for how many milliseconds nothing is to be done. */
  async #once(): Promise<number> {
    const round = this.#round;
    if (!(await this.#session.hold())) return this.#standBy(round);
    const now = Date.now();
    for (const [tenant, until] of this.#held) if (until <= now) this.#held.delete(tenant);
    const sweep = await this.#sweep();
    for (const tenant of sweep.heldTenants) this.#held.set(tenant, now + heldMs);
    if (sweep.trouble !== null) return this.#inTrouble(sweep, sweep.trouble);
    this.#failures = 0;
    if (!sweep.reachedEnd) return 0;
    if (this.#held.size === 0) this.#drained(round);
    return this.#options.pollMs;
  }

  #sweep(): Promise<Sweep> {
    const { client, batchMax, onRejected } = this.#options;
    return sweepOutbox({
      query: (text, values) => this.#session.query(text, values),
      table: this.#table,
      client,
      rowsMax: sweepRowsMax,
      batchMax,
      batchBytesMax,
      heldTenants: [...this.#held.keys()],
      onRejected: (event, error) => this.#told(() => onRejected(event, error)),
      isStopped: () => this.#stopped,
    });
  }

  #inTrouble(sweep: Sweep, { kind, error }: Trouble): number {
    this.#told(() => this.#options.onError(error));
    // Some went through: those that did not are held, the others go on.
    if (sweep.settled > 0) return 0;
    this.#held.clear();
    this.#failures += 1;
    return kind === 'refused' ? refusedMs : backoffMs(this.#failures + 1, Math.random(), 0);
  }

  /** Another relay is at work; what it has sent counts for those who wait here. */
  async #standBy(round: number): Promise<number> {
    const waited = this.#drains.some(({ fromRound }) => fromRound <= round);
    if (waited && (await this.backlog()).due === 0) this.#drained(round);
    return this.#options.standbyMs;
  }

  #databaseFailed(cause: unknown): number {
    const error = cause instanceof Error ? cause : new Error(String(cause));
    this.#session.abandon(error);
    this.#told(() => this.#options.onError(error));
    this.#failures += 1;
    return backoffMs(this.#failures + 1, Math.random(), 0);
  }

  #drained(round: number): void {
    const [over, waiting] = [[] as Drain[], [] as Drain[]];
    for (const drain of this.#drains) (drain.fromRound <= round ? over : waiting).push(drain);
    this.#drains.splice(0, this.#drains.length, ...waiting);
    for (const { resolve } of over) resolve();
  }

  /** A callback that throws must not end the relay. */
  #told(tell: () => void): void {
    try {
      tell();
    } catch (error) {
      process.emitWarning(`audit outbox: a callback failed: ${String(error)}`);
    }
  }

  #wake(): void {
    this.#isWoken = true;
    this.#endPause();
  }

  async #pause(ms: number): Promise<void> {
    if (this.#isWoken || this.#stopped) return;
    const { promise, resolve } = deferred();
    const timer = setTimeout(resolve, ms);
    this.#endPause = resolve;
    await promise;
    clearTimeout(timer);
  }
}
