import { performance } from 'node:perf_hooks';
import { eventBytesMax } from '@indelible/protocol';
import type { EventInput } from '../api-types.ts';
import {
  type BatchClient,
  deliverBatch,
  emptyMemory,
  endedBy,
  notesOf,
  type Outcome,
} from '../delivery/deliver-batch.ts';
import type { Trouble } from '../delivery/failure.ts';
import { deferred, Hold } from '../delivery/hold.ts';
import {
  createReadying,
  type InvalidEventError,
  type ReadyEvent,
  tenantOf,
  tooLarge,
} from '../delivery/ready-event.ts';
import type { AnyAction, AnyResourceType } from '../event/words.ts';
import { FlushWaiters } from './flush-waiters.ts';
import {
  type Recorder,
  type RecorderOptions,
  type RecorderStats,
  type Settings,
  settingsOf,
} from './options.ts';
import { type PendingEvent, PendingEvents } from './pending-events.ts';
import { watchProcessEnd } from './process-end.ts';
import { Alarm, lostAtExit, Reports } from './reports.ts';
import { SetAside } from './set-aside.ts';
import { SourceNumbers } from './source-numbers.ts';
import { Spool } from './spool.ts';

/** Throws RangeError or TypeError for invalid options. */
export function createRecorder<A extends string = AnyAction, R extends string = AnyResourceType>(
  options: RecorderOptions<A, R>,
): Recorder<A, R> {
  return new BufferedRecorder(options);
}

// Below the 8 MiB of a call, and small enough to join without blocking the host.
const batchBytesMax = 2 * 2 ** 20;
const spillBytes = 256 * 1024;
const diskRetryMs = 1_000;
const takeOverMs = 15_000;

/** Events to send, from memory or from the spool. */
interface Batch {
  texts: readonly string[];
  /** Whether their outcomes count still: events may go to disk while they travel. */
  isDue(): boolean;
  settle(outcomes: readonly Outcome[]): void;
}

/** From memory, of different tenants. From the spool batches go one after the other. */
const batchesAtOnce = 2;

/*
 * An event is in memory or in the spool. While the spool has events, those are sent, and newer ones
 * are appended to it. So each tenant's events arrive in the order in which they were recorded.
 */
class BufferedRecorder implements Recorder {
  readonly #settings: Settings;
  readonly #client: BatchClient;
  readonly #calls = new AbortController();
  readonly #ready: (event: EventInput) => ReadyEvent;
  readonly #numbers: SourceNumbers | null;
  readonly #openSpool: () => Spool | null;
  readonly #spool: Spool | null;
  readonly #setAside: SetAside | null;
  readonly #reports: Reports;
  readonly #pending = new PendingEvents();
  readonly #memory = emptyMemory();
  readonly #hold = new Hold();
  readonly #waiters = new FlushWaiters();
  readonly #pauseEnds = new Alarm(() => this.#pump());
  readonly #holdEnds = new Alarm(() => this.#pump());
  readonly #flushDue = new Alarm(() => {
    this.#isDue = true;
    this.#pump();
  }, true);
  readonly #syncDue = new Alarm(() => void this.#sync());
  readonly #takeOverDue = new Alarm(() => this.#takeOver());
  readonly #unwatch: () => void;
  #immediate: NodeJS.Immediate | null = null;
  #number = 0;
  #isDue = false;
  /** Batches without an answer yet. */
  #sending = 0;
  /** After a failed write, so that not every caller waits for a disk that fails; 0: it works. */
  #diskRetryAtMs = 0;
  #troubles = 0;
  #closing: Promise<RecorderStats> | null = null;
  #isEnded = false;

  constructor(options: RecorderOptions) {
    this.#settings = settingsOf(options);
    this.#client = endedBy(this.#calls.signal, this.#settings.client);
    this.#reports = new Reports(this.#settings);
    const { spoolFolder: root, source } = options;
    const bytesMax = this.#settings.spoolBytesMax;
    const onDamaged = (error: Error) => this.#reports.warn(error);
    this.#numbers = source ? new SourceNumbers(source, root ?? null, onDamaged) : null;
    this.#ready = createReadying(options, this.#numbers?.stamp);
    const spooling = { bytesMax, onDamaged, ...notesOf(this.#memory) };
    this.#openSpool = () => (root === undefined ? null : new Spool({ root, ...spooling }));
    this.#spool = this.#openSpool();
    this.#setAside = root === undefined ? null : new SetAside(root, bytesMax, onDamaged);
    const endings = { close: () => this.close(), end: () => lostAtExit(this.#end(), root) };
    this.#unwatch = watchProcessEnd(this.#settings.closeOnExit, endings);
    this.#takeOver();
  }

  record(event: EventInput): string {
    let ready: ReadyEvent;
    try {
      ready = this.#ready(event);
    } catch (error) {
      return this.#reports.refused(event, error as InvalidEventError);
    }
    const { id, tenantId, text } = ready;
    const bytes = Buffer.byteLength(text);
    if (bytes > eventBytesMax) return this.#reports.refused(event, tooLarge);
    this.#number += 1;
    const pending = { tenantId, text, bytes, number: this.#number };
    if (this.#isEnded) this.#recordLate(text);
    else if (this.#hasRoom(bytes) || this.#makeRoom(bytes)) this.#take(pending);
    else this.#reports.lost(text, 'buffer_full');
    return id;
  }

  async flush(): Promise<RecorderStats> {
    if (this.#isEnded) return this.stats();
    this.#diskRetryAtMs = Math.min(this.#diskRetryAtMs, 1); // at once; 0 would mean that it works
    this.#hold.cut();
    const flushed = this.#waiters.wait(this.#number, this.#troubles);
    this.#pump();
    await flushed;
    await this.#sync();
    return this.stats();
  }

  close({ timeoutMs = 10_000 } = {}): Promise<RecorderStats> {
    this.#closing ??= this.#close(timeoutMs);
    return this.#closing;
  }

  stats(): RecorderStats {
    return {
      buffered: this.#pending.count,
      spooled: this.#spool?.events ?? 0,
      spooledBytes: this.#spool?.bytes ?? 0,
      ...this.#reports.counts,
    };
  }

  async #close(timeoutMs: number): Promise<RecorderStats> {
    const timeUp = deferred();
    const timer = setTimeout(timeUp.resolve, timeoutMs);
    await Promise.race([this.flush(), timeUp.promise]);
    clearTimeout(timer);
    this.#end();
    return this.stats();
  }

  /** The synchronous part of closing: writes memory to disk. Returns how many events were lost. */
  #end(): number {
    if (this.#isEnded) return 0;
    this.#isEnded = true;
    this.#unwatch();
    const alarms = [this.#pauseEnds, this.#holdEnds, this.#flushDue, this.#syncDue];
    for (const alarm of [...alarms, this.#takeOverDue]) alarm.clear();
    if (this.#immediate !== null) clearImmediate(this.#immediate);
    this.#pending.takeBack();
    this.#spill(Number.POSITIVE_INFINITY);
    const left = this.#pending.take(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY);
    this.#pending.settle(left);
    for (const { text } of left) this.#reports.lost(text, 'closed');
    this.#spool?.close();
    this.#numbers?.close();
    this.#waiters.releaseAll();
    this.#calls.abort();
    return left.length;
  }

  #take(event: PendingEvent): void {
    this.#pending.add(event);
    if (this.#settings.durable) this.#spill(Number.POSITIVE_INFINITY);
    // Joining a batch takes longer than recording: never in the caller's own call.
    if (this.#pending.waiting >= this.#settings.batchMax) this.#pumpSoon();
    else this.#flushDue.setOnce(this.#settings.flushMs);
  }

  #pumpSoon(): void {
    this.#immediate ??= setImmediate(() => {
      this.#immediate = null;
      this.#pump();
    });
  }

  #hasRoom(bytes: number): boolean {
    const { eventsMax, bytesMax } = this.#settings;
    const { count, bytes: held } = this.#pending;
    return count < eventsMax && (held === 0 || held + bytes <= bytesMax);
  }

  /**
   * The only time that the caller waits for the disk: memory is full, and the event would be lost.
   */
  #makeRoom(bytes: number): boolean {
    if (this.#spool === null) return false;
    this.#startSpooling();
    return this.#hasRoom(bytes);
  }

  /** Starts everything that can proceed; called after every event of any kind. */
  #pump(): void {
    if (this.#isEnded) return;
    if (this.#spool?.isEmpty === false && this.#isToMove()) {
      this.#spill(spillBytes);
      if (this.#isToMove() && this.#pending.waiting > 0 && !this.#diskRetryAtMs) this.#pumpSoon();
    }
    this.#sendNext();
    if (this.#pending.waiting === 0) {
      this.#isDue = false;
      this.#flushDue.clear(); // it would keep the process running
      if (this.#spool?.isEmpty !== false) this.#hold.forget();
    }
    this.#tellWaiters();
  }

  #isToMove(): boolean {
    const isBatch = this.#pending.waiting >= this.#settings.batchMax;
    return this.#isDue || isBatch || !this.#waiters.isEmpty;
  }

  #isPaused(): boolean {
    return this.#hold.isPaused(performance.now());
  }

  #sendNext(): void {
    for (let batch = this.#next(); batch !== null; batch = this.#next()) void this.#send(batch);
    // Callers of `flush` have waited for everything that can be sent now.
    const isIdle = this.#sending === 0 && !this.#isPaused();
    if (isIdle && this.#hold.tenants.size > 0) this.#troubles += 1;
  }

  #next(): Batch | null {
    const spool = this.#spool?.isEmpty === false ? this.#spool : null;
    // What was sent from memory may be in the spool now: its answer comes first.
    if (this.#isPaused() || this.#sending >= (spool ? 1 : batchesAtOnce)) return null;
    this.#hold.endIfOver(performance.now());
    return spool ? this.#ofSpool(spool) : this.#ofMemory();
  }

  async #send(batch: Batch): Promise<void> {
    this.#sending += 1;
    await this.#deliver(batch);
    this.#sending -= 1;
    this.#pump();
  }

  async #deliver({ texts, isDue, settle }: Batch): Promise<void> {
    const delivery = await deliverBatch(this.#client, texts, this.#memory);
    if (this.#isEnded) return;
    const doCount = isDue();
    const kept = doCount ? this.#setAside?.keep(texts, delivery) : null;
    const { outcomes, trouble } = kept ?? delivery;
    settle(outcomes);
    if (doCount) this.#reports.settled(texts, outcomes);
    else if (trouble?.scope !== 'all') return;
    this.#judge(trouble, texts, outcomes);
  }

  #ofSpool(spool: Spool): Batch | null {
    const texts = spool.peek(this.#settings.batchMax, batchBytesMax, this.#hold.tenants);
    const settle = (outcomes: readonly Outcome[]) =>
      spool.settle(outcomes.map(({ status }) => status !== 'again'));
    return texts.length === 0 ? null : { texts, isDue: () => true, settle };
  }

  #ofMemory(): Batch | null {
    if (!this.#isToMove()) return null;
    const { batchMax, spoolAfterMs } = this.#settings;
    const events = this.#pending.take(batchMax, batchBytesMax, this.#hold.tenants);
    if (events.length === 0) return null;
    const slow = setTimeout(() => this.#startSpooling(), spoolAfterMs).unref();
    const settle = (outcomes: readonly Outcome[]) => {
      clearTimeout(slow);
      const again = events.filter((_, at) => outcomes[at]?.status === 'again');
      this.#pending.settle(events, again);
    };
    const isDue = () => this.#pending.isTaken(events);
    return { texts: events.map(({ text }) => text), isDue, settle };
  }

  /** Delays events to be sent again, longer each time and on disk: of some tenants, or all. */
  #judge(trouble: Trouble | null, texts: readonly string[], outcomes: readonly Outcome[]): void {
    const again = () => texts.filter((_, at) => outcomes[at]?.status === 'again').map(tenantOf);
    const ms = this.#hold.after(trouble, again, performance.now());
    if (trouble === null) return;
    this.#isDue = true;
    const isForAll = trouble.scope === 'all';
    if (isForAll) this.#troubles += 1;
    const isKnown = isForAll && trouble.kind === 'away' && this.#hold.failures > 1;
    if (!isKnown) this.#reports.warn(trouble.error);
    (isForAll ? this.#pauseEnds : this.#holdEnds).set(ms);
    this.#startSpooling();
  }

  /** Starts moving memory to disk, in steps. */
  #startSpooling(): void {
    if (this.#spool === null || this.#isEnded) return;
    const wasEmpty = this.#spool.isEmpty;
    this.#isDue = true;
    this.#spill(spillBytes);
    if (wasEmpty && !this.#spool.isEmpty) this.#reports.spooled();
    this.#pumpSoon();
  }

  #spill(bytesMax: number): void {
    const mayWrite = this.#isEnded || performance.now() >= this.#diskRetryAtMs;
    if (this.#spool === null || !mayWrite) return;
    // Those in flight come before newer events. If they succeed too, they are recorded once. If the
    // disk fails, their answer still counts: a slow one would else be ignored each time.
    for (const events of this.#pending.taken()) if (!this.#write(this.#spool, events)) return;
    let bytes = 0;
    while (this.#pending.waiting > 0 && bytes < bytesMax) {
      const events = this.#pending.take(this.#settings.batchMax, spillBytes);
      if (!this.#write(this.#spool, events)) {
        this.#pending.settle(events, events);
        return;
      }
      for (const event of events) bytes += event.bytes;
    }
    this.#diskRetryAtMs = 0;
    this.#syncDue.setOnce(this.#settings.fsyncMs);
  }

  #write(spool: Spool, events: readonly PendingEvent[]): boolean {
    try {
      spool.append(events.map(({ text }) => text));
    } catch (error) {
      this.#diskFailed(error);
      return false;
    }
    return this.#pending.settle(events);
  }

  async #sync(): Promise<void> {
    await this.#spool?.sync().catch((error: unknown) => this.#reports.warn(error));
  }

  #diskFailed(error: unknown): void {
    if (this.#diskRetryAtMs === 0) this.#reports.warn(error);
    this.#diskRetryAtMs = performance.now() + diskRetryMs;
    if (!this.#isEnded && !this.#isPaused()) this.#pauseEnds.set(diskRetryMs);
  }

  #takeOver(): void {
    if (this.#spool === null) return;
    this.#takeOverDue.setOnce(takeOverMs);
    this.#numbers?.touch();
    try {
      this.#spool.takeOver();
      // The next run retries temporary read errors, such as too many open files.
      if (!this.#spool.isEmpty) this.#pumpSoon();
    } catch (error) {
      this.#reports.warn(error);
    }
  }

  /** After the end, events can only go to disk. */
  #recordLate(text: string): void {
    try {
      const spool = this.#openSpool();
      if (spool === null) throw new Error('the recorder has no spool');
      spool.append([text]);
      spool.close();
    } catch {
      this.#reports.lost(text, 'closed');
    }
  }

  #tellWaiters(): void {
    if (this.#waiters.isEmpty) return;
    this.#waiters.tell({
      firstNumber: this.#pending.firstNumber(),
      troubles: this.#troubles,
      hasDisk: this.#spool !== null && this.#diskRetryAtMs === 0,
      appended: this.#spool?.appended ?? 0,
      spooled: this.#spool?.events ?? 0,
    });
  }
}
