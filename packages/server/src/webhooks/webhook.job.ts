import { randomUUID } from 'node:crypto';
import { deliver } from '../postgres/db.ts';
import { type DeliverDeps, deliverTurn, leaseMs } from './deliver.job.ts';
import { forgetDeliveries, keptMs } from './deliveries.store.ts';
import { claimWebhook, type Leased } from './lease.store.ts';

const callsAtOnce = 20;
/** One tenant's slow receivers leave room for the others. */
const callsPerTenant = 4;
const pollMs = 1_000;
/** A busy service flushes a hundred times a second; that many looks would be for nothing. */
const wakeMsMin = 100;
/**
 * With ten thousand endpoints a look takes 10 ms: it is to be a small part of the time in any case.
 */
const looksShareMax = 0.05;
const forgetEveryMs = 3_600_000;

/**
 * Delivers to all endpoints: several at once, each by one process at a time, whoever has waited
 * longest first. Work is found in the logs themselves, by one statement a second and after each
 * flush of this process, so that nothing has to be queued and nothing can be lost.
 */
export class WebhookJob {
  readonly #deps: DeliverDeps;
  readonly #running = new Map<string, { tenantId: string; turn: Promise<void> }>();
  readonly #stop = new AbortController();
  #claims: Promise<void> = Promise.resolve();
  #poll: NodeJS.Timeout | undefined;
  #woken: NodeJS.Timeout | undefined;
  #wakeMs = wakeMsMin;
  #forgotAtMs = 0;

  constructor(deps: DeliverDeps) {
    this.#deps = deps;
  }

  /** Begins to look for work; the function returned ends that, what is under way goes on. */
  start(): () => void {
    this.#poll = setInterval(() => void this.#claim(), pollMs);
    return () => {
      clearInterval(this.#poll);
      clearTimeout(this.#woken);
      this.#poll = undefined;
    };
  }

  /** Something was recorded, or an endpoint was changed. Only for a process that works. */
  wake(): void {
    if (this.#poll === undefined || this.#woken !== undefined) return;
    this.#woken = setTimeout(() => {
      this.#woken = undefined;
      void this.#claim();
    }, this.#wakeMs);
  }

  /**
   * Delivers everything that is due; resolves when nothing is under way any more. Never rejects.
   */
  async tick(): Promise<void> {
    await this.#claim();
    while (this.#running.size > 0) {
      await Promise.all([...this.#running.values()].map(({ turn }) => turn));
    }
  }

  /** Cuts calls off; their messages are due at once, for whoever works on. */
  async stop(): Promise<void> {
    this.#stop.abort();
    clearInterval(this.#poll);
    clearTimeout(this.#woken);
    await this.tick();
  }

  /** One look for work after the other, so that no tenant gets more than its share. */
  #claim(): Promise<void> {
    this.#claims = this.#claims.then(() => this.#takeUp()).catch(this.#deps.onError);
    return this.#claims;
  }

  async #takeUp(): Promise<void> {
    const { db, now } = this.#deps;
    while (this.#running.size < callsAtOnce && !this.#stop.signal.aborted) {
      const lease = randomUUID();
      const busy = this.#busyTenants();
      const began = performance.now();
      const leased = await claimWebhook(db.deliveries, lease, busy, now(), now() + leaseMs);
      const tookMs = performance.now() - began;
      this.#wakeMs = Math.min(pollMs, Math.max(wakeMsMin, tookMs / looksShareMax));
      if (!leased) break;
      this.#running.set(lease, { tenantId: leased.tenantId, turn: this.#run(leased) });
    }
    await this.#forget();
  }

  #busyTenants(): string[] {
    const byTenant = Map.groupBy(this.#running.values(), ({ tenantId }) => tenantId);
    return [...byTenant].flatMap(([id, turns]) => (turns.length >= callsPerTenant ? [id] : []));
  }

  async #run(leased: Leased): Promise<void> {
    await deliverTurn(this.#deps, leased, this.#stop.signal).catch(this.#deps.onError);
    this.#running.delete(leased.lease);
    await this.#claim();
  }

  async #forget(): Promise<void> {
    const { db, now } = this.#deps;
    if (now() - this.#forgotAtMs < forgetEveryMs || this.#stop.signal.aborted) return;
    this.#forgotAtMs = now();
    await deliver(db, (tx) => forgetDeliveries(tx, now() - keptMs));
  }
}
