import type { ErrorCode } from '@indelible/protocol';
import type { PreparedEvent } from '../events/prepared-event.ts';
import type { Appended } from './append.store.ts';

/** The outcome of one event: stored now or before, or refused for a reason of the database. */
export type Outcome = Appended | { status: 'rejected'; code: ErrorCode; detail: string };

/** An event on its way to the log; settled exactly once. */
export interface QueuedEvent {
  event: PreparedEvent;
  /** The stored API key that recorded it, checked again in the flush; null if not needed. */
  keyId: string | null;
  settle(outcome: Outcome): void;
}

const flushEventsMax = 500;
const flushBytesMax = 4 * 2 ** 20;
const skipsBeforeWaiting = 3;

/**
 * Events waiting for a flush: first in, first out for each tenant, round robin between tenants. A
 * tenant taken by a flush is unavailable until it is released, so its events stay in order and the
 * flushes of a process never wait for each other. Times are monotonic milliseconds.
 */
export class RecordQueue {
  readonly #lines = new Map<string, QueuedEvent[]>();
  /** The last event of each tenant that a flush has taken. */
  readonly #taken = new Map<string, QueuedEvent>();
  /** Tenants whose head another process had locked: how often in a row, and since when. */
  readonly #skipped = new Map<string, { times: number; sinceMs: number }>();

  add(item: QueuedEvent): void {
    const line = this.#lines.get(item.event.tenantId);
    if (line) line.push(item);
    else this.#lines.set(item.event.tenantId, [item]);
  }

  /** Resolves with the outcomes once all are settled. One promise an event would cost more. */
  addAll(events: readonly PreparedEvent[], keyId: string | null): Promise<Outcome[]> {
    return new Promise((resolve) => {
      const outcomes: Outcome[] = [];
      let left = events.length;
      events.forEach((event, at) => {
        const settle = (outcome: Outcome) => {
          outcomes[at] = outcome;
          if (--left === 0) resolve(outcomes);
        };
        this.add({ event, keyId, settle });
      });
    });
  }

  /**
   * The events of the next flush, of tenants whose heads are not locked elsewhere: at most 500
   * events and about 4 MiB.
   */
  takeReady(): QueuedEvent[] {
    const load = new Load();
    for (const tenantId of [...this.#lines.keys()]) {
      if (load.isFull()) break;
      if (this.#isReady(tenantId)) this.#takeFrom(tenantId, load);
    }
    return load.items;
  }

  /** The events of one tenant whose head is often locked: a flush of its own waits for it. */
  takeStuck(): QueuedEvent[] {
    const load = new Load();
    for (const tenantId of this.#skipped.keys()) {
      if (!this.#isStuck(tenantId) || this.#taken.has(tenantId)) continue;
      this.#takeFrom(tenantId, load);
      if (load.items.length > 0) break;
    }
    return load.items;
  }

  /**
   * Events of tenants whose heads a flush has locked, which have come since it took `items`: as
   * many as it has room for. None if another part of a split flush has the tenant's last events.
   */
  takeBehind(items: readonly QueuedEvent[], heads: readonly { tenantId: string }[]): QueuedEvent[] {
    const load = new Load(items);
    const lasts = new Map(items.map((item) => [item.event.tenantId, item]));
    for (const { tenantId } of heads) {
      if (load.isFull()) break;
      if (this.#taken.get(tenantId) === lasts.get(tenantId)) this.#takeFrom(tenantId, load);
    }
    return load.items.slice(items.length);
  }

  /**
   * Every event of tenants whose heads have been locked since before `sinceMs` and that no flush
   * waits for. They leave the queue and are refused.
   */
  takeOverdue(sinceMs: number): QueuedEvent[] {
    const items: QueuedEvent[] = [];
    for (const [tenantId, skipped] of this.#skipped) {
      if (skipped.sinceMs >= sinceMs || !this.#isStuck(tenantId)) continue;
      if (this.#taken.has(tenantId)) continue;
      items.push(...(this.#lines.get(tenantId) ?? []));
      this.#lines.delete(tenantId);
      this.#skipped.delete(tenantId);
    }
    return items;
  }

  /**
   * Ends a flush; `skipped` events return to the front of their queue. A flush that had nothing
   * else to write should have waited: the next one does.
   */
  release(items: readonly QueuedEvent[], skipped: readonly QueuedEvent[], nowMs: number): void {
    const back = byTenant(skipped);
    const groups = byTenant(items);
    for (const tenantId of groups.keys()) {
      this.#taken.delete(tenantId);
      const again = back.get(tenantId);
      if (!again) {
        this.#skipped.delete(tenantId);
        continue;
      }
      const { times, sinceMs } = this.#skipped.get(tenantId) ?? { times: 0, sinceMs: nowMs };
      const more = groups.size === 1 ? skipsBeforeWaiting : 1;
      this.#skipped.set(tenantId, { times: times + more, sinceMs });
      this.#lines.set(tenantId, [...again, ...(this.#lines.get(tenantId) ?? [])]);
    }
  }

  #isReady(tenantId: string): boolean {
    return !this.#isStuck(tenantId) && !this.#taken.has(tenantId);
  }

  #isStuck(tenantId: string): boolean {
    return (this.#skipped.get(tenantId)?.times ?? 0) >= skipsBeforeWaiting;
  }

  // A tenant with more events than fit moves behind the other tenants.
  #takeFrom(tenantId: string, load: Load): void {
    const line = this.#lines.get(tenantId);
    if (!line) return;
    let count = 0;
    for (const item of line) {
      if (load.isFull()) break;
      load.add(item);
      this.#taken.set(tenantId, item);
      count++;
    }
    this.#lines.delete(tenantId);
    if (count < line.length) this.#lines.set(tenantId, line.slice(count));
  }
}

class Load {
  readonly items: QueuedEvent[] = [];
  #bytes = 0;

  constructor(items: readonly QueuedEvent[] = []) {
    for (const item of items) this.add(item);
  }

  add(item: QueuedEvent): void {
    this.items.push(item);
    this.#bytes += item.event.bytes;
  }

  isFull(): boolean {
    return this.items.length >= flushEventsMax || this.#bytes >= flushBytesMax;
  }
}

export function byTenant(items: readonly QueuedEvent[]): Map<string, QueuedEvent[]> {
  return Map.groupBy(items, (item) => item.event.tenantId);
}
