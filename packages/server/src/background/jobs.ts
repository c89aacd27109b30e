import { randomUUID } from 'node:crypto';
import { type Database, type WriterTx, writeInBackground } from '../postgres/index.ts';
import type { Ended } from './every.ts';
import {
  type ClaimedJob,
  claimJob,
  deleteJob,
  endJob,
  insertJob,
  releaseJob,
  renewLease,
} from './jobs.store.ts';
import { LeasedWorker } from './leased-worker.ts';

const hour = 3_600_000;

interface Queue {
  /** How many of its jobs run in one process at the same time. */
  atOnce: number;
  /** How many of one tenant, over all processes. */
  perTenant: number;
  /** Pauses before the second and each further attempt; behind the last one a job is given up. */
  pausesMs: readonly number[];
  /** Whether its jobs write into the log, so that they wait while recording is stopped. */
  records: boolean;
}

/** So many pauses, each twice the one before, up to a longest one. */
function doubling(firstMs: number, longestMs: number, count: number): number[] {
  return Array.from({ length: count }, (_, n) => Math.min(firstMs * 2 ** n, longestMs));
}

const mail: Queue = {
  ...{ atOnce: 1, perTenant: 1, records: false },
  pausesMs: doubling(15_000, hour, 12),
};

const queues = {
  export: { atOnce: 3, perTenant: 2, pausesMs: doubling(5_000, 300_000, 6), records: true },
  // One call a tenant: a host product that does not answer holds up no other.
  restore: { atOnce: 20, perTenant: 1, pausesMs: [1_000, 4_000, 15_000], records: true },
  'export-mail': mail,
  'webhook-mail': mail,
  'tenant-mail': mail,
} satisfies Record<string, Queue>;

export type QueueName = keyof typeof queues;
const queueNames = Object.keys(queues) as QueueName[];

/** A process that does not renew a lease for this long has lost the job to another one. */
const leaseMs = 30_000;
const renewEveryMs = 10_000;
/** An attempt that takes longer hangs: it is aborted, and its lease ends. */
const attemptMsMax = 23 * hour;
/** Between attempts to record that a job was given up. */
const giveUpEveryMs = 60_000;

export interface NewJob {
  /** UUID, for jobs that may be taken back. */
  id?: string;
  data: object;
  tenantId: string;
  /** Higher goes first; 0 unless given. */
  priority?: number;
}

export interface RunningJob<Data> {
  /** UUID, the same in every attempt. */
  id: string;
  data: Data;
  /** Whether this is the last attempt, or one behind it. */
  isLast: boolean;
  /** Aborted when the job is taken back or taken over, or the service stops. */
  signal: AbortSignal;
}

/**
 * One attempt. What it throws is reported, and the job attempted again after a pause. Must survive
 * being repeated from any step, in two processes at once.
 */
type Attempt<Data> = (job: RunningJob<Data>) => Promise<void>;

/** Thrown by an attempt that ended as it may: another one follows, and nothing is reported. */
export class TryAgain extends Error {}

/** Background work on PostgreSQL: what is sent in a transaction is done if that one commits. */
export interface Jobs {
  send(tx: WriterTx, queue: QueueName, job: NewJob): Promise<void>;
  /** Takes back a job that has not ended; its signal is aborted within seconds. */
  cancel(tx: WriterTx, queue: QueueName, tenantId: string, id: string): Promise<void>;
  /** Looks for jobs at once: for after a commit. Otherwise they are found within a second. */
  wake(): void;
  /**
   * What `start` begins with. `giveUp` runs when the attempts are used up, also by processes that
   * died, and again until it succeeds; without it the job is dropped.
   */
  handle<Data>(queue: QueueName, attempt: Attempt<Data>, giveUp?: Attempt<Data>): void;
  /** Runs what is due of this queue until nothing is left, also in a process that is no worker. */
  tick(queue: QueueName): Promise<void>;
  /** Takes up what is due of this queue, and waits for this job's attempt if it was among it. */
  tickFor(queue: QueueName, id: string): Promise<void>;
  start(): void;
  /** Takes up nothing more. */
  pause(): void;
  /** Gives back what is running, to be done again, and waits until its handlers have ended. */
  stop(): Promise<void>;
}

interface Handler {
  attempt: Attempt<unknown>;
  giveUp: Attempt<unknown> | undefined;
}

/** `ended` hears of each attempt and what it threw, unless it was called off. */
export function createJobs(db: Database, now: () => number, ended: Ended): Jobs {
  const handlers = new Map<QueueName, Handler>();
  const worker = new LeasedWorker<ClaimedJob>({
    atOnce: Number.POSITIVE_INFINITY, // each queue has its own limit
    async claim(lease, running, only) {
      const open = queueNames
        .filter((name) => (only ?? name) === name && handlers.has(name))
        .filter((name) => running.filter((job) => job.queue === name).length < queues[name].atOnce)
        .map((name) => ({ name, ...queues[name] }));
      if (open.length === 0) return null;
      const untilMs = now() + leaseMs;
      return writeInBackground(db, (tx) => claimJob(tx, open, lease, now(), untilMs));
    },
    run: (job, stopping) => {
      const name = job.queue as QueueName;
      const handler = handlers.get(name);
      if (!handler) throw new Error(`no handler for jobs of ${name}`);
      return runJob({ db, now, ended }, queues[name].pausesMs, handler, job, stopping);
    },
    onError: (error) => ended('jobs', false, error),
  });
  return {
    send(tx, queue, { id = randomUUID(), data, tenantId, priority = 0 }) {
      return insertJob(tx, { tenantId, queue, id }, data, priority, now());
    },
    cancel: (tx, queue, tenantId, id) => deleteJob(tx, { tenantId, queue, id }),
    wake: () => worker.wake(),
    handle(queue, attempt, giveUp) {
      handlers.set(queue, {
        attempt: attempt as Attempt<unknown>,
        giveUp: giveUp as Attempt<unknown> | undefined,
      });
    },
    tick: (queue) => worker.tick(queue),
    tickFor: (queue, id) => worker.tickFor(queue, (job) => job.queue === queue && job.id === id),
    start: () => worker.start(),
    pause: () => worker.pause(),
    stop: () => worker.stop(),
  };
}

interface RunDeps {
  db: Database;
  now: () => number;
  ended: Ended;
}

/** One attempt and its end; throws only when that end could not be written. */
async function runJob(
  { db, now, ended }: RunDeps,
  pausesMs: readonly number[],
  { attempt, giveUp }: Handler,
  job: ClaimedJob,
  stopping: AbortSignal,
): Promise<void> {
  const { attempts, queue } = job;
  // Claimed while the service was told to stop, perhaps right after it was given back.
  if (stopping.aborted) return releaseJob(db.background, job, attempts - 1, now());
  const pauseMs = pausesMs[attempts - 1];
  const isUsedUp = attempts > pausesMs.length + 1;
  const lost = new AbortController();
  const signal = AbortSignal.any([stopping, lost.signal, AbortSignal.timeout(attemptMsMax)]);
  const endRenewing = keepLease({ db, now }, job, lost);
  const run = isUsedUp ? (giveUp ?? drop) : attempt;
  const { id, data } = job;
  const running = { id, data: JSON.parse(data), isLast: pauseMs === undefined, signal };
  const thrown = await run(running).then(
    () => null,
    (error: unknown) => ({ error }),
  );
  await endRenewing();
  if (thrown === null) {
    ended(queue, true);
    return endJob(db.background, job);
  }
  // An attempt that was cut off does not count: the next process begins with the same number.
  if (stopping.aborted) return releaseJob(db.background, job, attempts - 1, now());
  const { error } = thrown;
  if (!(error instanceof TryAgain || lost.signal.aborted)) ended(queue, false, error);
  if (pauseMs === undefined && !giveUp) return endJob(db.background, job);
  const dueAtMs = now() + (pauseMs ?? (isUsedUp ? giveUpEveryMs : 0));
  return releaseJob(db.background, job, attempts, dueAtMs);
}

/** Of a job whose process died in every attempt, so that the last one did not drop it. */
async function drop(): Promise<never> {
  throw new Error('a job was dropped: the process ended in each of its attempts');
}

/** Renews the lease until the function returned is called; aborts `lost` when that fails. */
function keepLease(
  { db, now }: Pick<RunDeps, 'db' | 'now'>,
  job: ClaimedJob,
  lost: AbortController,
): () => Promise<void> {
  let renewing = Promise.resolve();
  const began = performance.now();
  const renew = async () => {
    if (performance.now() - began > attemptMsMax) return;
    if (await renewLease(db.background, job, now() + leaseMs)) return;
    lost.abort(new Error('the job was taken back, or another process has taken it over'));
  };
  const timer = setInterval(() => {
    // A renewal that fails is tried again; the lease ends only after three of them.
    renewing = renewing.then(renew).catch(() => {});
  }, renewEveryMs);
  return () => {
    clearInterval(timer);
    return renewing;
  };
}
