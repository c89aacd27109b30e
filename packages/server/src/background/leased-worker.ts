import { randomUUID } from 'node:crypto';
import type { Ended } from './every.ts';

/** Work that only this process does until the lease ends. A crash lets the lease end. */
export interface Leased {
  lease: string;
  tenantId: string;
}

/** One kind of leased work: due rows of a table. */
interface LeasedWork<Claimed extends Leased> {
  /** The most running in this process at once. */
  atOnce: number;
  /**
   * Claims the work that has been due longest, with this lease; null if none is due. `running` is
   * this process's work. `only` is the argument of `tick`.
   */
  claim(
    lease: string,
    running: readonly Claimed[],
    only: string | undefined,
  ): Promise<Claimed | null>;
  /**
   * One attempt, which also stores its outcome; `stopping`: at shutdown. If it resolves to true,
   * the next one follows at once, for a time slice.
   */
  run(claimed: Claimed, stopping: AbortSignal): Promise<boolean>;
  /** Ends the lease after the last attempt, unless that threw; then it ends by itself. */
  release?(claimed: Claimed): Promise<void>;
  /** Its name in metrics and log lines. */
  work: string;
  /** Called after a release, and with what kept a claim or an attempt from ending. */
  ended: Ended;
}

const pollMs = 1_000;
/** After this time the work that has waited longest is next. */
const timeSliceMs = 1_000;
/** A busy service flushes a hundred times a second; it must not look for work as often. */
const wakeMsMin = 100;
/** With ten thousand webhooks a claim takes 10 ms; claims take this share of the time at most. */
const claimShareMax = 0.05;
const stopMsMax = 10_000;

/**
 * Claims work and runs it: looks once a second, when it is woken, and when an attempt has ended. A
 * crash at any moment leaves a lease that ends; then the work is claimed again. So `run` must
 * survive being repeated.
 */
export class LeasedWorker<Claimed extends Leased> {
  readonly #work: LeasedWork<Claimed>;
  readonly #running = new Map<Claimed, Promise<void>>();
  /** Running attempts, and finished ones that still look for more work. */
  readonly #attempts = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  #claims: Promise<void> = Promise.resolve();
  #poll: NodeJS.Timeout | undefined;
  #woken: NodeJS.Timeout | undefined;
  #wakeMs = wakeMsMin;

  constructor(work: LeasedWork<Claimed>) {
    this.#work = work;
  }

  /** Starts to look for work. */
  start(): void {
    this.#poll ??= setInterval(() => void this.#look(), pollMs);
  }

  /** Looks for no more work; running work continues. */
  pause(): void {
    clearInterval(this.#poll);
    clearTimeout(this.#woken);
    this.#poll = undefined;
    this.#woken = undefined;
  }

  /** Work may have become due. No effect before `start`. */
  wake(): void {
    if (this.#poll === undefined || this.#woken !== undefined) return;
    this.#woken = setTimeout(() => {
      this.#woken = undefined;
      void this.#look();
    }, this.#wakeMs);
  }

  /** Runs the due work, or `only` a part of it, until none is left. Never rejects. */
  async tick(only?: string): Promise<void> {
    await this.#look(only);
    while (this.#attempts.size > 0) await Promise.all(this.#attempts);
  }

  /** Starts the due work, and waits for the attempt that `isWanted` selects. Never rejects. */
  async tickFor(only: string, isWanted: (claimed: Claimed) => boolean): Promise<void> {
    await this.#look(only);
    for (const [claimed, ended] of this.#running) if (isWanted(claimed)) await ended;
  }

  /** Aborts running work and waits for its end, ten seconds at most. */
  async stop(): Promise<void> {
    this.pause();
    this.#stopping.abort(new Error('the service is stopping'));
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), stopMsMax);
    const isLate = new Promise((resolve) => late.signal.addEventListener('abort', resolve));
    await Promise.race([this.tick(), isLate]).finally(() => clearTimeout(timer));
  }

  readonly #failed = (error: unknown) => this.#work.ended(this.#work.work, false, error);

  /** One claim at a time: each must know the previous ones. */
  #look(only?: string): Promise<void> {
    this.#claims = this.#claims.then(() => this.#takeUp(only)).catch(this.#failed);
    return this.#claims;
  }

  async #takeUp(only: string | undefined): Promise<void> {
    while (this.#running.size < this.#work.atOnce && !this.#stopping.signal.aborted) {
      const began = performance.now();
      const claimed = await this.#work.claim(randomUUID(), [...this.#running.keys()], only);
      const shareMs = (performance.now() - began) / claimShareMax;
      this.#wakeMs = Math.min(pollMs, Math.max(wakeMsMin, shareMs));
      if (!claimed) return;
      const attempt = this.#run(claimed).catch(this.#failed);
      this.#running.set(claimed, attempt);
      const whole = attempt
        .then(() => this.#running.delete(claimed))
        .then(() => this.#look(only))
        .finally(() => this.#attempts.delete(whole));
      this.#attempts.add(whole);
    }
  }

  async #run(claimed: Claimed): Promise<void> {
    const { signal } = this.#stopping;
    const endMs = performance.now() + timeSliceMs;
    let goesOn = true;
    while (goesOn && (await this.#work.run(claimed, signal))) {
      goesOn = !signal.aborted && performance.now() < endMs;
    }
    if (!this.#work.release) return;
    await this.#work.release(claimed);
    this.#work.ended(this.#work.work, true);
  }
}
