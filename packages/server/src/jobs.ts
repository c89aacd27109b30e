import type pg from 'pg';
import type { PgBoss, Queue } from 'pg-boss';
import type { WriterTx } from './postgres/db.ts';

/** Where pg-boss keeps its queues. */
export const jobsSchema = 'indelible_jobs';

const hour = 3_600;

/** A worker that says nothing for this long has lost its jobs; another one takes them up. */
const heartbeatSeconds = 30;

const stopMsMax = 10_000;

/**
 * How each queue treats what fails. A queue stands behind the one it sends its lost causes to: jobs
 * that failed for the last time, also those whose worker died each time.
 */
const queues = {
  'export-failed': { retryLimit: 20, retryDelay: 5, retryBackoff: true, retryDelayMax: 600 },
  export: {
    retryLimit: 6,
    retryDelay: 5,
    retryBackoff: true,
    retryDelayMax: 300,
    expireInSeconds: 23 * hour,
    heartbeatSeconds,
    deadLetter: 'export-failed',
  },
  'export-mail': {
    retryLimit: 12,
    retryDelay: 15,
    retryBackoff: true,
    retryDelayMax: hour,
    expireInSeconds: 300,
  },
  'webhook-mail': {
    retryLimit: 12,
    retryDelay: 15,
    retryBackoff: true,
    retryDelayMax: hour,
    expireInSeconds: 300,
  },
  'tenant-mail': {
    retryLimit: 12,
    retryDelay: 15,
    retryBackoff: true,
    retryDelayMax: hour,
    expireInSeconds: 300,
  },
} satisfies Record<string, Omit<Queue, 'name'>>;

export type QueueName = keyof typeof queues;

export interface NewJob {
  /** UUID, for jobs that may be cancelled. */
  id?: string;
  data: object;
  /** Whose it is, for `perTenant`. */
  tenantId: string;
  /** Higher goes first; 0 unless told otherwise. */
  priority?: number;
}

export interface RunningJob<Data> {
  data: Data;
  /** Whether there is no further attempt after this one. */
  isLast: boolean;
  /** Aborted when the job is cancelled, taken over by another worker, or the service stops. */
  signal: AbortSignal;
}

export interface WorkLimits {
  /** Jobs at the same time in this process. */
  atOnce: number;
  /** For one tenant over all processes; one more may slip in where two look at the same moment. */
  perTenant?: number;
}

/** Background work on PostgreSQL: what is queued in a transaction is done if that one commits. */
export interface Jobs {
  send(tx: WriterTx, queue: QueueName, job: NewJob): Promise<void>;
  /** Takes back a job that has not ended; its handler's signal is aborted within seconds. */
  cancel(tx: WriterTx, queue: QueueName, id: string): Promise<void>;
  /**
   * Looks for new jobs at once; for after a commit. Otherwise they are found within two seconds.
   */
  wake(queue: QueueName): void;
  /** What `start` begins with. A handler that throws is tried again, as its queue says. */
  handle<Data>(
    queue: QueueName,
    limits: WorkLimits,
    handler: (job: RunningJob<Data>) => Promise<void>,
  ): void;
  /** Begins to work. Throws a sentence when the queues are missing or of another release. */
  start(): Promise<void>;
  /** Gives back what is running, to be done again, and waits until its handlers have ended. */
  stop(): Promise<void>;
}

interface Handled {
  queue: QueueName;
  limits: WorkLimits;
  run: (job: RunningJob<unknown>) => Promise<void>;
}

/**
 * Job queues on connections of their own; `onError` hears of what went wrong in the background,
 * `ended` of each attempt, unless it was called off.
 */
export function createJobs(
  pool: pg.Pool,
  onError: (error: unknown) => void,
  ended: (queue: QueueName, ok: boolean) => void,
): Jobs {
  const handled: Handled[] = [];
  const workers: { queue: QueueName; id: string }[] = [];
  const stopping = new AbortController();
  let opened: Promise<PgBoss> | null = null;
  const open = () => {
    opened ??= openBoss(pool, onError);
    return opened;
  };
  return {
    async send(tx, queue, { id, data, tenantId, priority = 0 }) {
      const boss = await open();
      const options = { group: { id: tenantId }, priority, db: within(tx) };
      const sent = await boss.send(queue, data, {
        ...options,
        ...(id === undefined ? {} : { id }),
      });
      if (sent === null) throw new Error(`the queue ${queue} did not take a job`);
    },
    async cancel(tx, queue, id) {
      await (await open()).cancel(queue, id, { db: within(tx) });
    },
    wake(queue) {
      const waiting = workers.filter((worker) => worker.queue === queue);
      void opened?.then((boss) => waiting.forEach(({ id }) => void boss.notifyWorker(id)));
    },
    handle(queue, limits, handler) {
      const run = async (job: RunningJob<unknown>) => {
        await handler(job as Parameters<typeof handler>[0]).catch((error) => {
          if (!job.signal.aborted) ended(queue, false);
          throw error;
        });
        ended(queue, true);
      };
      handled.push({ queue, limits, run });
    },
    async start() {
      const boss = await open();
      await boss.start().catch((cause: Error) => {
        throw new Error(`${cause.message}; run \`indelible migrate\``, { cause });
      });
      for (const each of handled) workers.push(...(await work(boss, each, stopping.signal)));
    },
    async stop() {
      // First: pg-boss waits for handlers, and what they threw is written down before it ends.
      stopping.abort(new Error('the service is stopping'));
      await (await opened)?.stop({ timeout: stopMsMax });
    },
  };
}

// pg-boss takes a fifth of a second to load, which a start need not wait for.
async function openBoss(pool: pg.Pool, onError: (error: unknown) => void): Promise<PgBoss> {
  const { PgBoss } = await import('pg-boss');
  const boss = new PgBoss({
    db: { executeSql: inTurn((text, values) => pool.query(text, values)) },
    schema: jobsSchema,
    // The serving login may fill queues, not make them.
    migrate: false,
    createSchema: false,
    reindex: false,
    monitorVacuum: false,
    schedule: false,
    superviseIntervalSeconds: heartbeatSeconds,
    monitorIntervalSeconds: heartbeatSeconds,
  });
  boss.on('error', onError);
  return boss;
}

type ExecuteSql = (text: string, values?: unknown[]) => Promise<pg.QueryResult>;

/**
 * One statement after the other: workers that look for jobs at the same moment would each count
 * what runs without the other's, and take more of one tenant than they may.
 */
function inTurn(execute: ExecuteSql): ExecuteSql {
  let last: Promise<unknown> = Promise.resolve();
  return (text, values) => {
    const result = last.then(() => execute(text, values));
    last = result.catch(() => {});
    return result;
  };
}

function within(tx: WriterTx) {
  return { executeSql: (text: string, values?: unknown[]) => tx.query(text, values) };
}

/** One worker a place, each of its own, so that each can be woken. */
async function work(boss: PgBoss, { queue, limits, run }: Handled, stopping: AbortSignal) {
  const { atOnce, perTenant } = limits;
  const options = {
    includeMetadata: true as const,
    pollingIntervalSeconds: 2,
    ...(perTenant === undefined ? {} : { groupConcurrency: perTenant }),
  };
  const ids = Array.from({ length: atOnce }, () =>
    boss.work<unknown, void, typeof options>(queue, options, async ([job]) => {
      if (!job) return;
      const { data, retryCount, retryLimit } = job;
      const signal = AbortSignal.any([job.signal, stopping]);
      await run({ data, signal, isLast: retryCount >= retryLimit });
    }),
  );
  return (await Promise.all(ids)).map((id) => ({ queue, id }));
}

/** Makes the queues, or brings them up to date, as their owner. */
export async function migrateJobs(client: pg.Client): Promise<void> {
  const { PgBoss } = await import('pg-boss');
  const boss = new PgBoss({
    db: { executeSql: (text, values) => client.query(text, values) },
    schema: jobsSchema,
    createSchema: false,
    supervise: false,
    schedule: false,
  });
  boss.on('error', () => {}); // what matters is thrown
  await boss.start();
  for (const [name, options] of Object.entries(queues)) {
    if (await boss.getQueue(name)) await boss.updateQueue(name, options);
    else await boss.createQueue(name, options);
  }
  await boss.stop({ graceful: false });
  await client.query(grants);
}

// Jobs come and go; the queues themselves, and functions that make tables, are the owner's.
const grants = `
  REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA ${jobsSchema} FROM PUBLIC;
  GRANT USAGE ON SCHEMA ${jobsSchema} TO indelible_writer;
  GRANT EXECUTE ON FUNCTION ${jobsSchema}.job_now TO indelible_writer;
  GRANT SELECT, INSERT, UPDATE, DELETE ON ${jobsSchema}.job, ${jobsSchema}.job_common,
    ${jobsSchema}.job_dependency TO indelible_writer;
  GRANT SELECT, UPDATE ON ${jobsSchema}.version, ${jobsSchema}.queue TO indelible_writer;`;
