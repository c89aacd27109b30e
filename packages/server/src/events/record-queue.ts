import type { ErrorCode } from '@indelible/protocol';
import type { PreparedEvent } from './prepared-event.ts';
import type { Appended } from './store.ts';

/**
 * What became of one event: stored now or before, or refused for a reason only the database knows.
 */
export type Outcome = Appended | { status: 'rejected'; code: ErrorCode; detail: string };

/** One event on its way to the log; settled exactly once. */
export interface QueuedEvent {
  event: PreparedEvent;
  /** The stored API key that recorded it, checked again within the flush; null needs no check. */
  keyId: string | null;
  settle(outcome: Outcome): void;
}

const flushEventsMax = 500;
const flushBytesMax = 4 * 2 ** 20;
const skipsBeforeWaiting = 3;

/**
 * Events waiting for a flush, first come first served within a tenant and in turn between tenants.
 * A tenant that was taken is out of reach until it is released, so its events stay in order and two
 * flushes of one process never wait for each other. Times are any milliseconds that never go back.
 */
export class RecordQueue {
  readonly #lines = new Map<string, QueuedEvent[]>();
  readonly #taken = new Set<string>();
  /**
   * Tenants whose head was locked elsewhere: how often in a row it was found so, and since when.
   */
  readonly #skipped = new Map<string, { times: number; sinceMs: number }>();

  add(item: QueuedEvent): void {
    const line = this.#lines.get(item.event.tenantId);
    if (line) line.push(item);
    else this.#lines.set(item.event.tenantId, [item]);
  }

  /**
   * The next flush, of tenants whose heads are not held elsewhere: at most 500 events, and no more
   * once 4 MiB are together.
   */
  takeReady(): QueuedEvent[] {
    const load = new Load();
    for (const tenantId of [...this.#lines.keys()]) {
      if (load.isFull()) break;
      if (!this.#isStuck(tenantId)) this.#takeFrom(tenantId, load);
    }
    return load.items;
  }

  /** The events of one tenant whose head was found locked several times: it must be waited for. */
  takeStuck(): QueuedEvent[] {
    const load = new Load();
    for (const tenantId of this.#skipped.keys()) {
      if (this.#isStuck(tenantId)) this.#takeFrom(tenantId, load);
      if (load.items.length > 0) break;
    }
    return load.items;
  }

  /**
   * Every event of tenants whose heads have been locked since before `sinceMs` and that no flush is
   * waiting for: they leave the queue, to be refused.
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

  /** Ends a flush; `skipped` were not written and go back to the head of their line. */
  release(items: readonly QueuedEvent[], skipped: readonly QueuedEvent[], nowMs: number): void {
    const back = byTenant(skipped);
    for (const tenantId of byTenant(items).keys()) {
      this.#taken.delete(tenantId);
      const again = back.get(tenantId);
      if (!again) {
        this.#skipped.delete(tenantId);
        continue;
      }
      const { times, sinceMs } = this.#skipped.get(tenantId) ?? { times: 0, sinceMs: nowMs };
      this.#skipped.set(tenantId, { times: times + 1, sinceMs });
      this.#lines.set(tenantId, [...again, ...(this.#lines.get(tenantId) ?? [])]);
    }
  }

  #isStuck(tenantId: string): boolean {
    return (this.#skipped.get(tenantId)?.times ?? 0) >= skipsBeforeWaiting;
  }

  // A tenant with more than fits goes to the end of the turn.
  #takeFrom(tenantId: string, load: Load): void {
    const line = this.#lines.get(tenantId);
    if (!line || this.#taken.has(tenantId)) return;
    let count = 0;
    for (const item of line) {
      if (load.isFull()) break;
      load.add(item);
      count++;
    }
    this.#taken.add(tenantId);
    this.#lines.delete(tenantId);
    if (count < line.length) this.#lines.set(tenantId, line.slice(count));
  }
}

/** What one flush takes along. */
class Load {
  readonly items: QueuedEvent[] = [];
  #bytes = 0;

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
