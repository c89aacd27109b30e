import {
  type ErrorCode,
  type Plan,
  plans,
  retentionCutoff,
  type Sha256,
  uuidTimeMs,
} from '@indelible/protocol';
import { invalidKeyIds } from '../api-keys/store.ts';
import { type Database, isUnavailable, type WriterTx, write } from '../db.ts';
import { type LogHead, lockHeads, tenantsWithLog } from '../log/store.ts';
import { unavailable } from '../problem.ts';
import type { PartitionKeeper } from './partitions.ts';
import type { PreparedEvent } from './prepared-event.ts';
import { byTenant, type Outcome, type QueuedEvent, RecordQueue } from './record-queue.ts';
import { appendEvents } from './store.ts';

/** Hears what the flush does; the metrics endpoint implements it. */
export interface FlushObserver {
  flushed(events: number, seconds: number): void;
  created(category: string): void;
  failed(error: unknown): void;
}

export interface FlushDeps {
  db: Database;
  sha: Sha256;
  now: () => number;
  partitions: PartitionKeeper;
  observer: FlushObserver;
  queueBytesMax: number;
}

const flushesMax = 2;
const waitersMax = 4;

/**
 * Group commit without a timer: a flush starts as soon as one of two places is free and takes what has
 * gathered, so a lone event waits for nothing and a busy service commits hundreds at once. A head that
 * another process keeps locked is skipped, then waited for in a place of its own: it stalls nobody.
 */
export class Recorder {
  readonly #deps: FlushDeps;
  readonly #queue = new RecordQueue();
  readonly #idle: (() => void)[] = [];
  #flushes = 0;
  #waiters = 0;
  #events = 0;
  #bytes = 0;

  constructor(deps: FlushDeps) {
    this.#deps = deps;
  }

  /**
   * Resolves once the events are committed, with their outcomes in the order given. `keyId` is checked
   * for revocation in the same transaction. Throws `unavailable` when the queue is full (64 MiB). An
   * event the database could not take just now is `rejected` as `unavailable`: when the connection
   * broke during the commit it may be stored all the same, and the same id may be sent again.
   */
  async record(events: readonly PreparedEvent[], keyId: string | null): Promise<Outcome[]> {
    const bytes = events.reduce((sum, event) => sum + event.bytes, 0);
    if (this.#bytes + bytes > this.#deps.queueBytesMax) {
      throw unavailable('the recording queue is full; send the same ids again');
    }
    this.#bytes += bytes;
    this.#events += events.length;
    const settled = events.map(
      (event) => new Promise<Outcome>((settle) => this.#queue.add({ event, keyId, settle })),
    );
    this.#pump();
    const outcomes = await Promise.all(settled);
    this.#bytes -= bytes;
    this.#events -= events.length;
    if (this.#events === 0) for (const resolve of this.#idle.splice(0)) resolve();
    return outcomes;
  }

  /** Events waiting or being written, and their bytes. */
  depth(): { events: number; bytes: number } {
    return { events: this.#events, bytes: this.#bytes };
  }

  /** Resolves when everything accepted so far is written or refused. */
  drained(): Promise<void> {
    if (this.#events === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  #pump(): void {
    while (this.#flushes < flushesMax) {
      const items = this.#queue.takeReady();
      if (items.length === 0) break;
      this.#flushes++;
      void this.#run(items, false)
        .finally(() => this.#flushes--)
        .finally(() => this.#pump());
    }
    while (this.#waiters < waitersMax) {
      const items = this.#queue.takeStuck();
      if (items.length === 0) break;
      this.#waiters++;
      void this.#run(items, true)
        .finally(() => this.#waiters--)
        .finally(() => this.#pump());
    }
  }

  async #run(items: QueuedEvent[], wait: boolean): Promise<void> {
    const started = performance.now();
    const skipped = await this.#flush(items, wait);
    this.#deps.observer.flushed(
      items.length - skipped.length,
      (performance.now() - started) / 1_000,
    );
    this.#queue.release(items, skipped);
  }

  /** Writes the events and settles them; returns those whose head somebody else holds. */
  async #flush(items: QueuedEvent[], wait: boolean): Promise<QueuedEvent[]> {
    try {
      const { settled, skipped } = await write(this.#deps.db, (tx) =>
        this.#append(tx, items, wait),
      );
      // Only now, after the commit, may anybody hear of it.
      for (const [item, outcome] of settled) {
        if (outcome.status === 'created') this.#deps.observer.created(item.event.category);
        item.settle(outcome);
      }
      return skipped;
    } catch (error) {
      return this.#recover(items, error);
    }
  }

  async #append(tx: WriterTx, items: QueuedEvent[], wait: boolean) {
    const { sha, now, partitions } = this.#deps;
    const groups = byTenant(items);
    const keyIds = [...new Set(items.flatMap((item) => item.keyId ?? []))];
    const [heads, revoked] = await Promise.all([
      lockHeads(tx, [...groups.keys()], wait),
      keyIds.length > 0 ? invalidKeyIds(tx, keyIds, now()) : new Set<string>(),
    ]);
    const settled = new Map<QueuedEvent, Outcome>();
    const skipped = await withoutHead(tx, groups, heads, settled);
    const work = heads.map((head) => {
      const accepted: QueuedEvent[] = [];
      for (const item of groups.get(head.tenantId) ?? []) {
        const refusal = refusalOf(item, head, revoked, now());
        if (refusal) settled.set(item, refusal);
        else accepted.push(item);
      }
      return { head, items: accepted, events: accepted.map((item) => item.event) };
    });
    await partitions.ensure(work);
    const outcomes = await appendEvents(tx, sha, work, now());
    for (const [b, batch] of work.entries()) {
      batch.items.forEach((item, i) => {
        const outcome = outcomes[b]?.[i];
        if (outcome) settled.set(item, outcome);
      });
    }
    return { settled, skipped };
  }

  /**
   * A database that is away fails all of them with 503. Anything else may be the fault of one event:
   * the flush is repeated tenant by tenant, then event by event, so that the bad one fails alone.
   */
  async #recover(items: QueuedEvent[], error: unknown): Promise<QueuedEvent[]> {
    const { observer, partitions } = this.#deps;
    partitions.forget(); // retention may have dropped one that was there
    const [only] = items;
    if (isUnavailable(error) || (items.length === 1 && only)) {
      observer.failed(error);
      for (const item of items) item.settle(failure(error));
      return [];
    }
    const groups = [...byTenant(items).values()];
    const parts = groups.length > 1 ? groups : items.map((item) => [item]);
    const skipped: QueuedEvent[] = [];
    for (const part of parts) skipped.push(...(await this.#flush(part, true)));
    return skipped;
  }
}

function failure(error: unknown): Outcome {
  const state = error instanceof Error && 'code' in error ? String(error.code) : '';
  const rejected = (code: ErrorCode, detail: string): Outcome => ({
    status: 'rejected',
    code,
    detail,
  });
  if (isUnavailable(error))
    return rejected('unavailable', 'the database is not available; send the same id again');
  if (/^2[23]/.test(state))
    return rejected('validation_failed', 'the event cannot be stored as it is');
  return rejected('internal_error', 'the event was not recorded');
}

const unknownTenant: Outcome = {
  status: 'rejected',
  code: 'unknown_tenant',
  detail: 'there is no such tenant; create it first',
};
/** A tenant without a locked head is either unknown (refused) or held by somebody else (skipped). */
async function withoutHead(
  tx: WriterTx,
  groups: Map<string, QueuedEvent[]>,
  heads: readonly LogHead[],
  settled: Map<QueuedEvent, Outcome>,
): Promise<QueuedEvent[]> {
  if (heads.length === groups.size) return [];
  const locked = new Set(heads.map((head) => head.tenantId));
  const missing = [...groups].filter(([tenantId]) => !locked.has(tenantId));
  const known = await tenantsWithLog(
    tx,
    missing.map(([tenantId]) => tenantId),
  );
  const skipped: QueuedEvent[] = [];
  for (const [tenantId, items] of missing) {
    if (known.has(tenantId)) skipped.push(...items);
    else for (const item of items) settled.set(item, unknownTenant);
  }
  return skipped;
}

function refusalOf(
  item: QueuedEvent,
  head: LogHead,
  revoked: ReadonlySet<string>,
  nowMs: number,
): Outcome | null {
  if (item.keyId !== null && revoked.has(item.keyId)) {
    return {
      status: 'rejected',
      code: 'unauthenticated',
      detail: 'the API key is revoked or expired',
    };
  }
  const plan: Plan | undefined = plans[head.retentionClass]; // none while a legal hold stands
  if (plan && uuidTimeMs(item.event.uuid) < retentionCutoff(plan, nowMs)) {
    return {
      status: 'rejected',
      code: 'outside_retention',
      detail: `the event is older than the retention of the plan ${plan}`,
    };
  }
  return null;
}
