import { randomUUID } from 'node:crypto';
import { type Database, type WriterTx, writeInBackground } from '../postgres/db.ts';
import { type Ended, repeating } from './every.ts';
import {
  type ClaimedJob,
  claimJob,
  deleteJob,
  endJob,
  insertJob,
  type OpenQueue,
  releaseJob,
  renewLease,
} from './jobs.store.ts';
import { LeasedWorker } from './leased-worker.ts';

const hour = 3_600_000;

interface Queue extends Omit<OpenQueue, 'name'> {
  /** The most running jobs of this queue in one process. */
  atOnce: number;
  /** Pauses before the second and later attempts; after the last one the job has failed. */
  pausesMs: readonly number[];
}

/** Pauses that double up to a longest one. */
function doubling(firstMs: number, longestMs: number, count: number): number[] {
  return Array.from({ length: count }, (_, n) => Math.min(firstMs * 2 ** n, longestMs));
}

const mail: Queue = {
  atOnce: 1,
  perTenant: 1,
  records: false,
  pausesMs: doubling(15_000, hour, 12),
};

const queues = {
  export: { atOnce: 3, perTenant: 2, pausesMs: doubling(5_000, 300_000, 6), records: true },
  // One call for each tenant: a silent host product does not delay others.
  restore: { atOnce: 20, perTenant: 1, pausesMs: [1_000, 4_000, 15_000], records: true },
  'export-mail': mail,
  'webhook-mail': mail,
  'tenant-mail': mail,
  'alert-mail': mail,
  'confirm-mail': mail,
  'digest-mail': mail,
} satisfies Record<string, Queue>;

export type QueueName = keyof typeof queues;
export const queueNames = Object.keys(queues) as QueueName[];

/** After this time without a renewal, another process may take the job. */
const leaseMs = 30_000;
const renewEveryMs = 10_000;
/** A longer attempt hangs: it is aborted, and its lease ends. */
const attemptMsMax = 23 * hour;
/** Between attempts to record a final failure. */
const giveUpEveryMs = 60_000;

export interface NewJob {
  /** UUID, for jobs that can be cancelled. */
  id?: string;
  data: object;
  tenantId: string;
  /** Higher runs first; default 0. */
  priority?: number;
}

export interface RunningJob<Data> {
  /** UUID, the same in every attempt. */
  id: string;
  data: Data;
  /** Whether this is the last attempt, or a later one. */
  isLast: boolean;
  /** Aborted if the job is cancelled or taken over, or the service stops. */
  signal: AbortSignal;
}

/**
 * One attempt. Its error is reported, and the job retried after a pause. Must be repeatable from
 * any step, also in two processes at once.
 */
type Attempt<Data> = (job: RunningJob<Data>) => Promise<void>;

/** Thrown to get another attempt without an error report. */
export class TryAgain extends Error {}

interface Handler {
  attempt: Attempt<unknown>;
  giveUp: Attempt<unknown> | undefined;
}

/** Background work in PostgreSQL: a job sent in a transaction runs if that commits. */
export type Jobs = ReturnType<typeof createJobs>;

/** `ended` gets each attempt and its error, unless the service stopped it. */
export function createJobs(db: Database, now: () => number, ended: Ended) {
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
    run: async (job, stopping) => {
      const name = job.queue as QueueName;
      const handler = handlers.get(name);
      if (!handler) throw new Error(`no handler for jobs of ${name}`);
      await runJob({ db, now, ended }, queues[name].pausesMs, handler, job, stopping);
      return false;
    },
    work: 'jobs',
    ended,
  });
  return {
    send(
      tx: WriterTx,
      queue: QueueName,
      { id = randomUUID(), data, tenantId, priority = 0 }: NewJob,
    ): Promise<void> {
      return insertJob(tx, { tenantId, queue, id }, data, priority, now());
    },
    /** Cancels an unfinished job; its signal is aborted within seconds. */
    cancel: (tx: WriterTx, queue: QueueName, tenantId: string, id: string) =>
      deleteJob(tx, { tenantId, queue, id }),
    /** Looks for jobs at once: call it after a commit. Otherwise they are found within a second. */
    wake: () => worker.wake(),
    /**
     * Registers a handler before `start`. `giveUp` runs when the attempts are used up, also by
     * crashed processes, and is repeated until it succeeds; without it the job is dropped.
     */
    handle<Data>(queue: QueueName, attempt: Attempt<Data>, giveUp?: Attempt<Data>): void {
      handlers.set(queue, {
        attempt: attempt as Attempt<unknown>,
        giveUp: giveUp as Attempt<unknown> | undefined,
      });
    },
    /** Runs the queue's due jobs until none is left, also in a process without worker role. */
    tick: (queue: QueueName) => worker.tick(queue),
    /** Starts the due jobs of this queue, and waits for this job if it is among them. */
    tickFor: (queue: QueueName, id: string) =>
      worker.tickFor(queue, (job) => job.queue === queue && job.id === id),
    start: () => worker.start(),
    /** Takes no new jobs. */
    pause: () => worker.pause(),
    /** Releases running jobs, to be repeated, and waits for their handlers. */
    stop: () => worker.stop(),
  };
}

interface RunDeps {
  db: Database;
  now: () => number;
  ended: Ended;
}

/** One attempt and its end; throws only if the end could not be stored. */
async function runJob(
  { db, now, ended }: RunDeps,
  pausesMs: readonly number[],
  { attempt, giveUp }: Handler,
  job: ClaimedJob,
  stopping: AbortSignal,
): Promise<void> {
  const { attempts, queue } = job;
  // Claimed while the service was stopping, perhaps right after its release.
  if (stopping.aborted) return releaseJob(db.background, job, attempts - 1, now());
  const pauseMs = pausesMs[attempts - 1];
  const isUsedUp = attempts > pausesMs.length + 1;
  const lost = new AbortController();
  const signal = AbortSignal.any([stopping, lost.signal, AbortSignal.timeout(attemptMsMax)]);
  const endRenewing = keepLease({ db, now }, job, lost);
  const run = isUsedUp ? (giveUp ?? drop) : attempt;
  const { id, data } = job;
  const running = { id, data: JSON.parse(data), isLast: pauseMs === undefined, signal };
  const [ran] = await Promise.allSettled([run(running)]);
  await endRenewing();
  if (ran.status === 'fulfilled') {
    ended(queue, true);
    return endJob(db.background, job);
  }
  // A stopped attempt does not count: the next process gets the same number.
  if (stopping.aborted) return releaseJob(db.background, job, attempts - 1, now());
  const { reason } = ran;
  if (!(reason instanceof TryAgain || lost.signal.aborted)) ended(queue, false, reason);
  if (pauseMs === undefined && !giveUp) return endJob(db.background, job);
  const dueAtMs = now() + (pauseMs ?? (isUsedUp ? giveUpEveryMs : 0));
  return releaseJob(db.background, job, attempts, dueAtMs);
}

/** A job whose process crashed in every attempt, so that the last one did not drop it. */
async function drop(): Promise<never> {
  throw new Error('a job was dropped: the process ended in each of its attempts');
}

/** Renews the lease until the returned function is called; aborts `lost` if it is lost. */
function keepLease(
  { db, now }: Pick<RunDeps, 'db' | 'now'>,
  job: ClaimedJob,
  lost: AbortController,
): () => Promise<void> {
  const began = performance.now();
  const renew = async () => {
    if (performance.now() - began > attemptMsMax) return;
    if (await renewLease(db.background, job, now() + leaseMs)) return;
    lost.abort(new Error('the job was taken back, or another process has taken it over'));
  };
  // A failed renewal is repeated; the lease survives two of them.
  return repeating(renewEveryMs, renew, () => {});
}
