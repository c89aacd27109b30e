import type { BatchResult } from '../api-types.ts';
import type { IndelibleClient } from '../client.ts';
import { errorOf } from '../error-of.ts';
import { IndelibleError, notTheService, unexpected } from '../http/errors.ts';
import { isOfProxy, isPassing, refusalOf, subjectOf, type Trouble, troubleOf } from './failure.ts';
import { tenantOf } from './ready-event.ts';

/** Sends batches: a client, or any object with its `recordBatchTexts`. */
export type BatchClient = Pick<IndelibleClient, 'recordBatchTexts'>;

/**
 * The same, whose calls the signal ends: otherwise a call without an answer outlives its sender,
 * and keeps the process running. Each is one attempt, because its sender repeats it.
 */
export function endedBy(signal: AbortSignal, client: BatchClient): BatchClient {
  return {
    async recordBatchTexts(texts) {
      signal.throwIfAborted();
      // The controller serves this call alone: Node 20 keeps memory for each AbortSignal.any of a
      // lasting signal.
      const call = new AbortController();
      const end = () => call.abort(signal.reason);
      signal.addEventListener('abort', end);
      try {
        return await client.recordBatchTexts(texts, { signal: call.signal, attempts: 1 });
      } finally {
        signal.removeEventListener('abort', end);
      }
    },
  };
}

/** The outcome of one event; `again` must be sent again, in the order of its tenant. */
export type Outcome =
  | { status: 'stored' }
  /** `other`: the event failed alone while others pass, so the sender must keep it in a file. */
  | { status: 'rejected'; error: IndelibleError; refusedBy: 'service' | 'other' }
  | { status: 'again' };

/** Outcomes in the order sent; `trouble` is set exactly if one of them is `again`. */
export interface Delivery {
  outcomes: Outcome[];
  trouble: Trouble | null;
}

/** What a sender remembers, from one delivery to the next, of events that fail alone. */
export interface Memory {
  /** How many events have reached the service so far. */
  passed: number;
  /** The texts that a proxy has refused alone, and how many events had passed by then. */
  readonly refused: Map<string, number>;
  /** Since when an event of the tenant fails alone, in milliseconds since 1970. */
  readonly failing: Map<string, number>;
}

export const emptyMemory = (): Memory => ({ passed: 0, refused: new Map(), failing: new Map() });

/**
 * Writes down since when events fail alone, and continues from such a note of an earlier process:
 * else a restart each day would let them block others for ever.
 */
export const notesOf = ({ failing }: Memory) => ({
  note: () => JSON.stringify([...failing]),
  onNote(note: string): void {
    try {
      for (const [tenant, sinceMs] of JSON.parse(note) as [string, number][]) {
        failing.set(tenant, Math.min(sinceMs, failing.get(tenant) ?? sinceMs));
      }
    } catch {} // of an earlier version, or not written completely: the clocks begin again
  },
});

/** An event that fails alone for so long is set aside: nothing may block others for ever. */
const failingMsMax = 24 * 3_600_000;
/** After so many events in a row that fail alone, the sender waits: perhaps nothing passes. */
const aloneMax = 8;
/** How many refused texts are remembered; bounds the memory. */
const refusedMax = 500;

/**
 * Sends a batch of JSON texts and returns the outcome of each. Never throws.
 *
 * If the service refuses the whole batch for its content, or an answer of another server may be
 * about the content, the batch is halved until the event at fault is alone. The service itself may
 * refuse this one for good. A proxy must refuse it alone twice, and another event must be stored in
 * between. After a 5xx or no answer it waits, and its tenant's later events with it.
 */
export async function deliverBatch(
  client: BatchClient,
  texts: readonly string[],
  memory: Memory = emptyMemory(),
  nowMs = Date.now(),
): Promise<Delivery> {
  const sorting = new Sorting(client, texts, memory, nowMs);
  await sorting.run();
  return sorting.delivery;
}

/** What is decided of a batch while its parts are sent. */
class Sorting {
  readonly delivery: Delivery;
  readonly #all: readonly number[];
  readonly #client: BatchClient;
  readonly #texts: readonly string[];
  readonly #memory: Memory;
  readonly #nowMs: number;
  /** Tenants with an event to be sent again: later ones must not overtake it. */
  readonly #held = new Set<string>();
  /** Events that have failed alone since the last one passed. */
  #alone = 0;

  constructor(client: BatchClient, texts: readonly string[], memory: Memory, nowMs: number) {
    this.#all = [...texts.keys()];
    this.#client = client;
    this.#texts = texts;
    this.#memory = memory;
    this.#nowMs = nowMs;
    this.delivery = { outcomes: texts.map(() => ({ status: 'again' })), trouble: null };
  }

  async run(): Promise<void> {
    const { refused } = this.#memory;
    if (refused.size > refusedMax) refused.clear();
    // Refused events come last: they must not hide one that passes.
    await this.#send(this.#all.filter((at) => !refused.has(this.#text(at))));
    for (const at of this.#all) {
      const before = refused.get(this.#text(at)) ?? Number.POSITIVE_INFINITY;
      const isToSend = before < this.#memory.passed || this.delivery.trouble === null;
      if (isToSend) await this.#send([at]);
    }
    this.#forgetRecovered();
    if (this.#with('again').length === 0) this.delivery.trouble = null;
  }

  /** In the order of the events: none overtakes an earlier one of its tenant. */
  async #send(indexes: readonly number[]): Promise<void> {
    const part = indexes.filter((at) => this.#isDue(at));
    const error = part.length > 0 ? await this.#call(part) : null;
    if (error !== null) await this.#judge(part, error);
  }

  async #judge(part: readonly number[], error: Error): Promise<void> {
    const subject = subjectOf(error);
    const [at = 0] = part;
    const middle = part.length >> 1;
    if (subject === 'tenants') this.#wait(part, error);
    else if (subject === 'all') this.#holdAll(error);
    else if (subject === 'unclear' && !(await this.#isReachable())) this.#holdAll(error);
    else if (middle > 0) {
      await this.#send(part.slice(0, middle));
      await this.#send(part.slice(middle));
    } else if (subject === 'content') this.#reject(at, error, 'service');
    else this.#failedAlone(at, error);
  }

  #failedAlone(at: number, error: Error): void {
    const { refused, passed } = this.#memory;
    const text = this.#text(at);
    const before = refused.get(text) ?? passed;
    const isRefusal = isOfProxy(error);
    this.#startClock(at);
    this.#alone += 1;
    if (isRefusal) refused.set(text, before);
    if ((isRefusal && before < passed) || this.#isTooLate(at)) this.#reject(at, error, 'other');
    else if (this.#alone > aloneMax) this.#holdAll(error);
    else if (isRefusal) this.#tell(error, 'tenants');
    else this.#hold([at], error, 'tenants');
  }

  /** The tenants of these events wait, except for events that have failed for a day. */
  #wait(part: readonly number[], error: Error): void {
    for (const at of part) {
      if (this.#isTooLate(at)) this.#reject(at, error, 'other');
      else this.#hold([at], error, 'tenants');
    }
  }

  #startClock(at: number): void {
    const { failing } = this.#memory;
    const tenant = this.#tenant(at);
    if (!failing.has(tenant)) failing.set(tenant, this.#nowMs);
  }

  #isTooLate(at: number): boolean {
    const sinceMs = this.#memory.failing.get(this.#tenant(at));
    return sinceMs !== undefined && this.#nowMs - sinceMs > failingMsMax;
  }

  /** A tenant has recovered when its events pass and none of them waits. */
  #forgetRecovered(): void {
    const { failing } = this.#memory;
    if (failing.size === 0) return;
    const waiting = new Set(this.#with('again').map((at) => this.#tenant(at)));
    for (const at of this.#with('stored')) {
      const tenant = this.#tenant(at);
      if (!waiting.has(tenant)) failing.delete(tenant);
    }
  }

  #with(status: Outcome['status']): number[] {
    return this.#all.filter((at) => this.delivery.outcomes[at]?.status === status);
  }

  /** Whether the service answers at all: an outage must not cost a call for each half. */
  async #isReachable(): Promise<boolean> {
    const error = await this.#record([]).catch(errorOf);
    return !(error instanceof Error) || subjectOf(error) === 'content';
  }

  /** Sends these events; the error if they are undecided. */
  async #call(part: readonly number[]): Promise<Error | null> {
    try {
      const results = await this.#record(part.map((at) => this.#text(at)));
      for (const [nth, at] of part.entries()) this.#settle(at, results[nth]);
      return null;
    } catch (cause) {
      return errorOf(cause);
    }
  }

  async #record(texts: readonly string[]): Promise<BatchResult[]> {
    const results = await this.#client.recordBatchTexts(texts);
    if (results.length !== texts.length) throw notTheService(200);
    return results;
  }

  #settle(at: number, result: BatchResult | undefined): void {
    if (result?.status !== 'rejected') {
      this.delivery.outcomes[at] = { status: 'stored' };
      this.#passed(at);
      return;
    }
    const error = refusalOf(result);
    if (error.code === 'unauthenticated') this.#holdAll(error);
    else if (isPassing(error.code, this.#text(at))) {
      this.#startClock(at);
      this.#wait([at], error);
    } else this.#reject(at, error, 'service');
  }

  #reject(at: number, cause: Error, refusedBy: 'service' | 'other'): void {
    const error = cause instanceof IndelibleError ? cause : unexpected(0, cause.message);
    this.delivery.outcomes[at] = { status: 'rejected', error, refusedBy };
    if (refusedBy === 'service') this.#passed(at);
    // Otherwise it stays remembered: while the sender cannot keep it, it comes again.
  }

  /** The event has reached the service. */
  #passed(at: number): void {
    this.#memory.passed += 1;
    this.#memory.refused.delete(this.#text(at));
    this.#alone = 0;
  }

  #holdAll(error: Error): void {
    this.#hold(this.#all, error, 'all');
  }

  #hold(part: readonly number[], error: Error, scope: Trouble['scope']): void {
    for (const at of part) this.#held.add(this.#tenant(at));
    this.#tell(error, scope);
  }

  #tell(error: Error, scope: Trouble['scope']): void {
    if (scope === 'all' || this.delivery.trouble === null)
      this.delivery.trouble = troubleOf(error, scope);
  }

  #isDue(at: number): boolean {
    if (this.delivery.outcomes[at]?.status !== 'again') return false;
    return this.#held.size === 0 || !this.#held.has(this.#tenant(at));
  }

  #text(at: number): string {
    return this.#texts[at] ?? '';
  }

  #tenant(at: number): string {
    return tenantOf(this.#text(at));
  }
}
