import type { Plans, Sha256 } from '@indelible/protocol';
import { invalidKeyIds } from '../api-keys/store.ts';
import type { PreparedEvent } from '../events/prepared-event.ts';
import { FairQueue } from '../http/fair-queue.ts';
import { AppError, unavailable } from '../http/problem.ts';
import { LogDamaged } from '../log/entries.store.ts';
import { lockHeads } from '../log/store.ts';
import { type Database, record, unavailability, type WriterTx } from '../postgres/db.ts';
import { createNodeGroups } from '../postgres/engine.ts';
import type { Commit } from '../postgres/transaction.ts';
import {
  failure,
  type HeadWork,
  headIsLocked,
  refusalOf,
  type Settled,
  withoutHead,
  withoutTooOld,
} from './admission.ts';
import { appendEvents, RepeatedId } from './append.store.ts';
import { isMissingPartition, type PartitionKeeper } from './partitions.ts';
import { byTenant, type Outcome, type QueuedEvent, RecordQueue } from './record-queue.ts';

/*
 * The states of an event, from `record` to its answer:
 *
 *   waiting   `record` waits for room in the full queue, and throws `unavailable` after `waitMs`
 *   queued    in the line of its tenant (record-queue.ts)
 *   taken     by a flush, which alone has this tenant until it ends: so events stay in order
 *   skipped   another process has locked the log's head: queued again, before later ones
 *   stuck     skipped three times, or by a flush of this tenant alone: the waiting flush takes it
 *   overdue   stuck for 4 s while the waiting flush has another tenant: refused
 *   split     PostgreSQL refused its flush: parts of that flush are tried, down to one event
 *   settled   committed, repeated or refused; its caller gets the answer
 */

/** Observes flushes; the metrics endpoint implements it. */
export interface FlushObserver {
  flushed(events: number, seconds: number): void;
  created(category: string): void;
  failed(error: unknown): void;
}

export interface FlushDeps {
  db: Database;
  sha: Sha256;
  now: () => number;
  plans: Plans;
  partitions: PartitionKeeper;
  observer: FlushObserver;
  queueBytesMax: number;
  /** How long events wait for room in a full queue. */
  waitMs: number;
}

/**
 * How long events of a locked head wait for the waiting flush. Less than lock_timeout: when that
 * flush times out, these events are refused too, and it is free for others.
 */
const stuckMsMax = 4_000;

/** Events waiting or being written at once; few callers never reach them. */
const busyEvents = 16;

/** Calls of a tenant that wait for room in the queue. */
const waitingMax = 1_000;

/**
 * Group commit: a flush starts as soon as another one ends and takes the waiting events, then those
 * that have come by the time it has the heads. So a single event never waits, and a busy service
 * commits hundreds at once.
 */
export class GroupCommit {
  readonly #deps: FlushDeps;
  readonly #byNode: ReturnType<typeof createNodeGroups>;
  readonly #queue = new RecordQueue();
  readonly #idle: (() => void)[] = [];
  /** Whether a flush runs, and one that waits for a locked head. */
  readonly #running = { flush: false, waiting: false };
  #events = 0;
  #pumping = false;
  readonly #room: FairQueue;

  constructor(deps: FlushDeps) {
    this.#deps = deps;
    this.#byNode = createNodeGroups(deps.db.operations);
    const { queueBytesMax: max, waitMs } = deps;
    this.#room = new FairQueue({ max, waitingPerCaller: waitingMax, waitMs }, () =>
      unavailable('the recording queue is full; retry with the same ids'),
    );
  }

  /**
   * Resolves after the commit, with the outcomes in the given order. Checks in the same transaction
   * that `keyId` is not revoked. Waits while the queue is full (64 MiB), then throws `unavailable`.
   * An event that the database could not take is `rejected` as `unavailable`: if the connection
   * broke after the insert was sent it may be stored, so send it again with the same id.
   */
  async record(events: readonly PreparedEvent[], keyId: string | null): Promise<Outcome[]> {
    const [first] = events;
    if (!first) return [];
    const size = events.reduce((sum, event) => sum + event.bytes, 0);
    const wanted = { caller: first.tenantId, size, share: this.#deps.queueBytesMax };
    const release = this.#room.tryTake(wanted) ?? (await this.#room.take(wanted));
    this.#events += events.length;
    const settled = this.#queue.addAll(events, keyId);
    this.#pumpSoon();
    const outcomes = await settled;
    release();
    this.#events -= events.length;
    if (this.#events === 0) for (const resolve of this.#idle.splice(0)) resolve();
    return outcomes;
  }

  /** Events waiting or being written, and their bytes. */
  depth(): { events: number; bytes: number } {
    return { events: this.#events, bytes: this.#room.taken };
  }

  /** Whether many callers record at once, so that work that can wait should. */
  isBusy(): boolean {
    return this.#events > busyEvents;
  }

  /** Resolves when every accepted event is written or refused. */
  drained(): Promise<void> {
    if (this.#events === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  /**
   * Runs at the end of this iteration of the event loop, so that all requests read in it share one
   * flush.
   */
  #pumpSoon(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    setImmediate(() => {
      this.#pumping = false;
      this.#pump();
    });
  }

  #pump(): void {
    // With more locked heads than waiting flushes, the remaining events must not wait forever.
    for (const item of this.#queue.takeOverdue(performance.now() - stuckMsMax)) {
      item.settle(headIsLocked);
    }
    if (!this.#running.waiting) void this.#run('waiting', this.#queue.takeStuck());
    if (!this.#running.flush) void this.#run('flush', this.#queue.takeReady());
  }

  async #run(kind: 'flush' | 'waiting', items: QueuedEvent[]): Promise<void> {
    if (items.length === 0) return;
    this.#running[kind] = true;
    // Without an answer all are one group: its flush meets the same error, and tells it.
    const groups = await this.#byNode(items, tenantOf, performance.now()).catch(() => [items]);
    const ends = await Promise.all(groups.map((group) => this.#flush(group, kind === 'waiting')));
    const skipped = ends.flatMap((each) => each.skipped);
    this.#queue.release(groups.flat(), skipped, performance.now());
    this.#running[kind] = false;
    this.#pump(); // before the answers, so that PostgreSQL works while they are sent
    for (const { settled } of ends) this.#tell(settled);
  }

  /** Outcomes are reported only after the commit. */
  #tell(settled: Settled): void {
    for (const [item, outcome] of settled) {
      if (outcome.status === 'created') this.#deps.observer.created(item.event.category);
      item.settle(outcome);
    }
  }

  /** Writes the events, and those that join them. */
  async #flush(items: QueuedEvent[], wait: boolean): Promise<Written> {
    const started = performance.now();
    const written = await this.#write(items, wait).catch((error: unknown) => ({ error }));
    if ('error' in written) return this.#recover(items, wait, written.error);
    const { length } = written.settled;
    if (length > 0) this.#deps.observer.flushed(length, (performance.now() - started) / 1_000);
    return written;
  }

  async #write(items: QueuedEvent[], wait: boolean): Promise<Written> {
    const { db, partitions } = this.#deps;
    const commitAtOnce = () => record(db, (tx, commit) => this.#append(tx, items, wait, commit));
    const written = await commitAtOnce().catch((error: unknown) => {
      if (isMissingPartition(error))
        partitions.forget(); // retention has dropped one that was there
      else if (!(error instanceof RepeatedId)) throw error;
      return record(db, (tx) => this.#append(tx, items, wait));
    });
    await partitions.told();
    return written;
  }

  async #append(tx: WriterTx, items: QueuedEvent[], wait: boolean, commit?: Commit) {
    const { sha, now, plans, partitions, observer } = this.#deps;
    const heads = await lockHeads(tx, [...byTenant(items).keys()], wait);
    items.push(...this.#queue.takeBehind(items, heads));
    const groups = byTenant(items);
    const keyIds = [...new Set(items.flatMap((item) => item.keyId ?? []))];
    const nowMs = now();
    // After the heads: a key revoked meanwhile must not record, and its revocation is in the log.
    const revoked = keyIds.length > 0 ? await invalidKeyIds(tx, keyIds, nowMs) : new Set<string>();
    const settled: Settled = [];
    const { skipped, beheaded } = await withoutHead(tx, groups, heads, settled);
    if (beheaded.length > 0) observer.failed(new LogDamaged('a log has lost its head', beheaded));
    if (heads.length === 0) return { settled, skipped };
    const work: HeadWork[] = [];
    for (const head of heads) {
      const items = (groups.get(head.tenantId) ?? []).filter((item) => {
        const refusal = refusalOf(item, head, revoked);
        if (refusal) settled.push([item, refusal]);
        return !refusal;
      });
      work.push(await withoutTooOld(tx, plans, { head, items, nowMs }, settled));
    }
    await partitions.ensure(work, nowMs);
    const appended = await appendEvents(tx, sha, work, nowMs, commit);
    for (const [b, { items }] of work.entries()) {
      for (const [i, item] of items.entries()) {
        const outcome = appended[b]?.[i];
        if (outcome) settled.push([item, outcome]);
      }
    }
    return { settled, skipped };
  }

  /**
   * If the database is unavailable, or recording is stopped, all events fail with 503; with a
   * damaged log, those of its tenant. Any other error may come from one event: the flush is
   * repeated tenant by tenant, then by halves, so that only the bad event fails.
   */
  async #recover(items: QueuedEvent[], wait: boolean, error: unknown): Promise<Written> {
    const isOneLog = error instanceof LogDamaged && byTenant(items).size > 1;
    const concernsAll = unavailability(error) !== null || (error instanceof AppError && !isOneLog);
    if (concernsAll || items.length === 1) {
      this.#deps.observer.failed(error);
      const outcome = failure(error);
      return { settled: items.map((item) => [item, outcome]), skipped: [] };
    }
    // What joined a part would not be released with the flush.
    return this.#flushParts(items, wait);
  }

  async #flushParts(items: QueuedEvent[], wait: boolean): Promise<Written> {
    const skipped: QueuedEvent[] = [];
    for (const part of parts(items)) {
      const tenantId = part[0]?.event.tenantId;
      // An event must not overtake an earlier one of its tenant that returned to the queue.
      const isBehind = skipped.some((item) => item.event.tenantId === tenantId);
      const end = isBehind ? { settled: [], skipped: part } : await this.#flush(part, wait);
      this.#tell(end.settled);
      skipped.push(...end.skipped);
    }
    return { settled: [], skipped };
  }
}

/** How a failed flush is split: by tenant, then each tenant's events in halves. */
function parts(items: QueuedEvent[]): QueuedEvent[][] {
  const groups = [...byTenant(items).values()];
  if (groups.length > 1) return groups;
  const middle = Math.ceil(items.length / 2);
  return [items.slice(0, middle), items.slice(middle)];
}

/** How a flush ended; another process writes to the logs of the skipped events. */
interface Written {
  settled: Settled;
  skipped: QueuedEvent[];
}

const tenantOf = ({ event }: QueuedEvent) => event.tenantId;
