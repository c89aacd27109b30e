import { invalidKeyIds } from '../api-keys/store.ts';
import { FairQueue } from '../http/fair-queue.ts';
import { AppError, unavailable } from '../http/problem.ts';
import { LogDamaged, takeHeads } from '../log/store.ts';
import type { Parts } from '../parts.ts';
import { record, recordingConnections, unavailability, type WriterTx } from '../postgres/db.ts';
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
import type { PreparedEvent } from './prepared-event.ts';
import { byTenant, type Outcome, type QueuedEvent, RecordQueue } from './record-queue.ts';

/** Observes flushes; the metrics endpoint implements it. */
export interface FlushObserver {
  flushed(events: number, seconds: number): void;
  created(category: string): void;
  failed(error: unknown): void;
}

export interface FlushDeps extends Pick<Parts, 'db' | 'sha' | 'now' | 'plans'> {
  partitions: PartitionKeeper;
  observer: FlushObserver;
  queueBytesMax: number;
  /** How long events wait for room in a full queue. */
  waitMs: number;
  /** Few events wait so long for a running flush, which PostgreSQL may keep from a partition. */
  awaitedMs: number;
  /** How many flushes write at once, beside those that wait for a head. */
  slots: number;
}

/**
 * How long events of a locked head wait for a waiting slot. Less than lock_timeout: when the
 * flushes in these slots time out, the waiting events are refused too, and the slots are free for
 * others.
 */
const slotWaitMsMax = 4_000;

/** How long heads that other processes moved are locked before they are used, on a cluster. */
const contendedMs = 60_000;

/** Events waiting or being written at once; few callers never reach them. */
const busyEvents = 16;

/**
 * While many callers record, a further flush is worth its transaction from so many events on: it
 * costs as much processor time as recording seven of them.
 */
const furtherEventsMin = 32;

/** Whether a flush waits for heads that other processes have locked. */
type Wait = 'heads' | 'nothing';

/** Calls of a tenant that wait for room in the queue. */
const waitingMax = 1_000;

/**
 * Group commit: a flush starts as soon as one of its slots is free and takes the waiting events,
 * then those that have come by the time it has the heads. So a single event never waits, and a busy
 * service commits hundreds at once; while it is busy, few events wait a moment for the flush that
 * runs. A head that another process has locked is skipped, then waited for in a separate slot, so
 * that it delays no other tenant.
 */
export class GroupCommit {
  readonly #deps: FlushDeps;
  readonly #byNode: ReturnType<typeof createNodeGroups>;
  readonly #queue = new RecordQueue();
  readonly #idle: (() => void)[] = [];
  /** Until when, by tenant. */
  readonly #contended = new Map<string, number>();
  #flushes = 0;
  #waiters = 0;
  /** The flushes that few events wait for. */
  readonly #awaited = new Set<NodeJS.Timeout>();
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
    // With more locked heads than waiting slots, the remaining events must not wait forever.
    for (const item of this.#queue.takeOverdue(performance.now() - slotWaitMsMax)) {
      item.settle(headIsLocked);
    }
    while (this.#waiters < recordingConnections.waiters) {
      const items = this.#queue.takeStuck();
      if (items.length === 0) break;
      this.#waiters++;
      void this.#run(items, 'heads', () => this.#waiters--);
    }
    while (this.#flushes < this.#deps.slots && this.#isWorthFlush()) {
      const items = this.#queue.takeReady();
      if (items.length === 0) break;
      this.#flushes++;
      const endAwaiting = this.#await();
      void this.#run(items, 'nothing', () => {
        this.#flushes--;
        endAwaiting();
      });
    }
  }

  #isWorthFlush(): boolean {
    if (this.#awaited.size === 0 || !this.isBusy()) return true;
    return this.#queue.readyEvents() >= furtherEventsMin;
  }

  /** Few events wait for the flush that begins now, but not for long. Returns what ends that. */
  #await(): () => void {
    const end = () => {
      clearTimeout(overdue);
      this.#awaited.delete(overdue);
    };
    const overdue = setTimeout(() => {
      end();
      this.#pump();
    }, this.#deps.awaitedMs);
    this.#awaited.add(overdue);
    return end;
  }

  async #run(items: QueuedEvent[], wait: Wait, leaveSlot: () => void): Promise<void> {
    // Without an answer all are one group: its flush meets the same error, and tells it.
    const groups = await this.#byNode(items, tenantOf, performance.now()).catch(() => [items]);
    const ends = await Promise.all(groups.map((group) => this.#flush(group, wait)));
    const skipped = ends.flatMap((end) => end.skipped);
    this.#queue.release(groups.flat(), skipped, performance.now());
    leaveSlot();
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
  async #flush(items: QueuedEvent[], wait: Wait): Promise<Written> {
    const started = performance.now();
    const written = await this.#write(items, wait).catch((error: unknown) => ({ error }));
    if ('error' in written) return this.#recover(items, wait, written.error);
    const { length } = written.settled;
    if (length > 0) this.#deps.observer.flushed(length, (performance.now() - started) / 1_000);
    return written;
  }

  async #write(items: QueuedEvent[], wait: Wait): Promise<Written> {
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

  async #append(tx: WriterTx, items: QueuedEvent[], wait: Wait, commit?: Commit) {
    const { sha, now, plans, partitions, observer } = this.#deps;
    const startedMs = performance.now();
    const tenantIds = [...byTenant(items).keys()];
    const isContended = (id: string) => (this.#contended.get(id) ?? 0) > startedMs;
    const heads = await takeHeads(tx, tenantIds, wait === 'heads', isContended);
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
    for (const [b, batch] of work.entries()) {
      if (!appended[b]) {
        skipped.push(...batch.items);
        this.#contended.set(batch.head.tenantId, startedMs + contendedMs);
      }
      batch.items.forEach((item, i) => {
        const outcome = appended[b]?.[i];
        if (outcome) settled.push([item, outcome]);
      });
    }
    return { settled, skipped };
  }

  /**
   * If the database is unavailable, or recording is stopped, all events fail with 503; with a
   * damaged log, those of its tenant. Any other error may come from one event: the flush is
   * repeated tenant by tenant, then by halves, so that only the bad event fails.
   */
  async #recover(items: QueuedEvent[], wait: Wait, error: unknown): Promise<Written> {
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

  async #flushParts(items: QueuedEvent[], wait: Wait): Promise<Written> {
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
