import type { ErrorCode } from '@indelible/protocol';
import type { PreparedEvent } from './prepared-event.ts';
import type { Appended } from './store.ts';

/** What became of one event: stored now or before, or refused for a reason only the database knows. */
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
 * Events waiting for a flush, first come first served within a tenant and in turn between tenants. A
 * tenant that was taken is out of reach until it is released, so its events stay in order and two
 * flushes of one process never wait for each other.
 */
export class RecordQueue {
  readonly #waiting = new Map<string, QueuedEvent[]>();
  readonly #taken = new Set<string>();
  readonly #skips = new Map<string, number>();

  add(item: QueuedEvent): void {
    const line = this.#waiting.get(item.event.tenantId);
    if (line) line.push(item);
    else this.#waiting.set(item.event.tenantId, [item]);
  }

  /** The next flush: at most 500 events and 4 MiB, of tenants whose heads are not held elsewhere. */
  takeReady(): QueuedEvent[] {
    const items: QueuedEvent[] = [];
    for (const tenantId of [...this.#waiting.keys()]) {
      if (!this.#isStuck(tenantId)) this.#takeFrom(tenantId, items);
      if (isFull(items)) break;
    }
    return items;
  }

  /** The events of one tenant whose head was found locked several times: it must be waited for. */
  takeStuck(): QueuedEvent[] {
    const items: QueuedEvent[] = [];
    for (const tenantId of this.#skips.keys()) {
      if (this.#isStuck(tenantId)) this.#takeFrom(tenantId, items);
      if (items.length > 0) break;
    }
    return items;
  }

  /** Ends a flush; `skipped` were not written and go back to the head of their line. */
  release(items: readonly QueuedEvent[], skipped: readonly QueuedEvent[]): void {
    const back = byTenant(skipped);
    for (const tenantId of byTenant(items).keys()) {
      this.#taken.delete(tenantId);
      const again = back.get(tenantId);
      if (!again) {
        this.#skips.delete(tenantId);
        continue;
      }
      this.#skips.set(tenantId, (this.#skips.get(tenantId) ?? 0) + 1);
      this.#waiting.set(tenantId, [...again, ...(this.#waiting.get(tenantId) ?? [])]);
    }
  }

  #isStuck(tenantId: string): boolean {
    return (this.#skips.get(tenantId) ?? 0) >= skipsBeforeWaiting;
  }

  // A tenant with more than fits goes to the end of the turn.
  #takeFrom(tenantId: string, items: QueuedEvent[]): void {
    const line = this.#waiting.get(tenantId);
    if (!line || this.#taken.has(tenantId)) return;
    let count = 0;
    for (const item of line) {
      if (isFull(items)) break;
      items.push(item);
      count++;
    }
    if (count === 0) return;
    this.#taken.add(tenantId);
    this.#waiting.delete(tenantId);
    if (count < line.length) this.#waiting.set(tenantId, line.slice(count));
  }
}

function isFull(items: readonly QueuedEvent[]): boolean {
  if (items.length >= flushEventsMax) return true;
  if (items.length === 0 || items.length % 16 !== 0) return false;
  return items.reduce((sum, item) => sum + item.event.bytes, 0) >= flushBytesMax;
}

export function byTenant(items: readonly QueuedEvent[]): Map<string, QueuedEvent[]> {
  return Map.groupBy(items, (item) => item.event.tenantId);
}
