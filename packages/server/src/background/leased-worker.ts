import { randomUUID } from 'node:crypto';

/** What this process alone works on until the lease ends. A process that dies lets it end. */
export interface Leased {
  lease: string;
  tenantId: string;
}

/** Work of one kind: what is due stands in a table, and a process takes it by a lease. */
export interface LeasedWork<Claimed extends Leased> {
  /** How much of it runs in this process at the same time. */
  atOnce: number;
  /**
   * Takes what has been due longest, under this lease; null when nothing is due. `running` is what
   * this process works on already. `only` is what `tick` was given.
   */
  claim(
    lease: string,
    running: readonly Claimed[],
    only: string | undefined,
  ): Promise<Claimed | null>;
  /** One attempt, with its outcome and the end of the lease; `stopping`: the service stops. */
  run(claimed: Claimed, stopping: AbortSignal): Promise<void>;
  /** Hears of what kept a claim or an attempt from ending; the lease ends by itself then. */
  onError(error: unknown): void;
}

const pollMs = 1_000;
/** A busy service flushes a hundred times a second; it must not look for work as often. */
const wakeMsMin = 100;
/** With ten thousand webhooks a claim takes 10 ms; claims take this share of the time at most. */
const claimShareMax = 0.05;
const stopMsMax = 10_000;

/**
 * Claims work and runs it: looks once a second, when it is woken, and when an attempt has ended. A
 * crash at any moment leaves a lease that ends, and then the work is claimed again: what `run` does
 * must survive being repeated.
 */
export class LeasedWorker<Claimed extends Leased> {
  readonly #work: LeasedWork<Claimed>;
  readonly #running = new Map<Claimed, Promise<void>>();
  /** Those of `#running`, and those that have ended and still look for more. */
  readonly #attempts = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  #claims: Promise<void> = Promise.resolve();
  #poll: NodeJS.Timeout | undefined;
  #woken: NodeJS.Timeout | undefined;
  #wakeMs = wakeMsMin;

  constructor(work: LeasedWork<Claimed>) {
    this.#work = work;
  }

  /** Begins to look for work. */
  start(): void {
    this.#poll ??= setInterval(() => void this.#look(), pollMs);
  }

  /** Looks for nothing more; what runs goes on. */
  pause(): void {
    clearInterval(this.#poll);
    clearTimeout(this.#woken);
    this.#poll = undefined;
    this.#woken = undefined;
  }

  /** Something may have become due. Does nothing in a process that has not started to work. */
  wake(): void {
    if (this.#poll === undefined || this.#woken !== undefined) return;
    this.#woken = setTimeout(() => {
      this.#woken = undefined;
      void this.#look();
    }, this.#wakeMs);
  }

  /** Runs what is due, or `only` a part of it, until nothing is left. Never rejects. */
  async tick(only?: string): Promise<void> {
    await this.#look(only);
    while (this.#attempts.size > 0) await Promise.all(this.#attempts);
  }

  /** Takes up what is due, and waits for the attempt that `isWanted` names. Never rejects. */
  async tickFor(only: string, isWanted: (claimed: Claimed) => boolean): Promise<void> {
    await this.#look(only);
    for (const [claimed, ended] of this.#running) if (isWanted(claimed)) await ended;
  }

  /** Aborts what runs and waits until it has ended, ten seconds at most. */
  async stop(): Promise<void> {
    this.pause();
    this.#stopping.abort(new Error('the service is stopping'));
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), stopMsMax);
    const isLate = new Promise((resolve) => late.signal.addEventListener('abort', resolve));
    await Promise.race([this.tick(), isLate]).finally(() => clearTimeout(timer));
  }

  /** One claim after the other: each must know what the one before it has taken. */
  #look(only?: string): Promise<void> {
    this.#claims = this.#claims.then(() => this.#takeUp(only)).catch(this.#work.onError);
    return this.#claims;
  }

  async #takeUp(only: string | undefined): Promise<void> {
    while (this.#running.size < this.#work.atOnce && !this.#stopping.signal.aborted) {
      const began = performance.now();
      const claimed = await this.#work.claim(randomUUID(), [...this.#running.keys()], only);
      const shareMs = (performance.now() - began) / claimShareMax;
      this.#wakeMs = Math.min(pollMs, Math.max(wakeMsMin, shareMs));
      if (!claimed) return;
      const attempt = this.#run(claimed);
      this.#running.set(claimed, attempt);
      const whole = attempt
        .then(() => this.#running.delete(claimed))
        .then(() => this.#look(only))
        .finally(() => this.#attempts.delete(whole));
      this.#attempts.add(whole);
    }
  }

  #run(claimed: Claimed): Promise<void> {
    return this.#work.run(claimed, this.#stopping.signal).catch(this.#work.onError);
  }
}
