import type { Logger } from 'pino';
import { archiveInBackground } from './archive/command.ts';
import { createTimers, type Ended, type Recurring, type Timers } from './background/every.ts';
import type { Jobs } from './background/jobs.ts';
import type { Leased, LeasedWorker } from './background/leased-worker.ts';
import type { Config } from './config.ts';
import type { CheckpointJob } from './log/checkpoint.job.ts';
import type { Presence } from './operations/presence.ts';
import type { Database } from './postgres/db.ts';
import type { GroupCommit } from './record/flush.ts';
import { retainInBackground } from './retention/command.ts';
import type { LeasedWebhook } from './webhooks/lease.store.ts';
import { indexSearched, indexWords } from './words/index-words.ts';

/*
 * Everything that runs without a request that waits for it. There are two mechanisms. Leased work
 * (`background/leased-worker.ts`) looks for due work once a second, takes it for 30 seconds by one
 * UPDATE, and renews that lease while it runs. A process that dies lets the lease end; then any
 * process takes the work up again. What runs must survive being repeated.
 *
 * | Work           | Lease in         | At once               | A crash leaves                    |
 * |----------------|------------------|-----------------------|-----------------------------------|
 * | `export`       | `jobs`           | 3, of a tenant 2      | the file is made again, same bytes|
 * | `restore`      | `jobs`           | 20, of a tenant 1     | the call is repeated, same id     |
 * | `export-mail`, | `jobs`           | 1 each                | sent again, same Message-ID       |
 * | `webhook-mail`,|                  |                       |                                   |
 * | `tenant-mail`, |                  |                       |                                   |
 * | `alert-mail`,  |                  |                       |                                   |
 * | `confirm-mail`,|                  |                       |                                   |
 * | `digest-mail`  |                  |                       |                                   |
 * | `webhook`      | `webhooks.lease` | 20, of a tenant 4     | the message is sent again, same id|
 * | `alerts`       | `alert_cursors`  | 4, of a tenant 1      | the same events are evaluated     |
 *
 * Recurring work (`background/every.ts`) is the list below. Checkpoints, retention and archive run
 * in one process at a time: it holds a PostgreSQL lock, which ends with its connection. The next
 * run continues where the last one was cut off.
 */

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

interface BackgroundDeps {
  config: Config;
  db: Database;
  logger: Logger;
  ended: Ended;
  groupCommit: Pick<GroupCommit, 'isBusy'>;
  checkpoints: Pick<CheckpointJob, 'tickUnlessSigned'>;
  presence: Presence;
  jobs: Jobs;
  webhooks: LeasedWorker<LeasedWebhook>;
  alerts: LeasedWorker<Leased>;
  expireExports: () => Promise<boolean>;
  forgetDeliveries: () => Promise<void>;
  tellSources: () => Promise<boolean>;
  queueDigests: () => Promise<boolean>;
}

/** In every process; one of them signs. Lock: the row of `log_rounds`, which describes crashes. */
const checkpoints = ({ checkpoints }: BackgroundDeps): Recurring => ({
  work: 'checkpoints',
  everyMs: 10 * second,
  run: () => checkpoints.tickUnlessSigned(),
});

/** In every process, without a lock: each has its own row. */
const presence = ({ presence }: BackgroundDeps, isWorker: boolean): Recurring => ({
  work: 'presence',
  firstMs: 0,
  everyMs: 10 * second,
  run: () => presence.renew(isWorker).then(() => true),
});

/** In processes that are no workers, for their own searches; a worker's `words` do it, too. */
const searchedWords = ({ db }: BackgroundDeps): Recurring => ({
  work: 'words',
  everyMs: second,
  run: (stopping) => indexSearched(db, stopping),
});

/** In processes with the owner's login. Advisory locks: `indelible.retention`, `.archive`. */
const asOwner = ({ config, logger }: BackgroundDeps, ownerUrl: string): Recurring[] => [
  {
    work: 'retention',
    // Not at the start: the last run, or the start itself, has made the partitions of a week.
    firstMs: 30 * second,
    everyMs: hour,
    run: (stopping) => retainInBackground(ownerUrl, config, logger, stopping),
  },
  {
    work: 'archive', // looks whether ARCHIVE_INTERVAL is over, so that a restart does not put it off
    everyMs: minute,
    run: (stopping) => archiveInBackground(ownerUrl, config, logger, stopping),
  },
];

/** In workers, without a lock: several processes may run it at once, row by row. */
const ofWorkers = (deps: BackgroundDeps): Recurring[] => [
  { work: 'export-expiry', everyMs: minute, run: deps.expireExports },
  { work: 'sources', everyMs: minute, run: deps.tellSources },
  { work: 'digests', everyMs: 10 * minute, run: deps.queueDigests },
  {
    work: 'words',
    everyMs: second,
    run: (stopping) => indexWords(deps.db, () => deps.groupCommit.isBusy(), stopping),
  },
  {
    work: 'delivery-expiry',
    firstMs: minute,
    everyMs: hour,
    run: () => deps.forgetDeliveries().then(() => true),
  },
];

interface StartOptions {
  isWorker: boolean;
  /** Null without the owner's login: another process runs retention and archive. */
  ownerUrl: string | null;
}

export type Background = ReturnType<typeof createBackground>;

export function createBackground(deps: BackgroundDeps) {
  const { jobs, webhooks, alerts, ended } = deps;
  const workers = createTimers(ofWorkers(deps), ended);
  let others: Timers | null = null;
  return {
    start({ isWorker, ownerUrl }: StartOptions) {
      const owned = ownerUrl === null ? [] : asOwner(deps, ownerUrl);
      const words = isWorker ? [] : [searchedWords(deps)];
      const inEach = [checkpoints(deps), presence(deps, isWorker)];
      others = createTimers([...inEach, ...words, ...owned], ended);
      others.start();
      if (isWorker) for (const each of [jobs, webhooks, alerts, workers]) each.start();
    },
    /** Runs recurring work of workers once, now. */
    run: (work: 'export-expiry' | 'delivery-expiry' | 'sources' | 'digests' | 'words') =>
      workers.run(work),
    /** Takes no new work; running work continues. */
    pause() {
      for (const each of [jobs, webhooks, alerts, workers, others]) each?.pause();
    },
    /** Aborts running work and waits for its end. */
    async stop() {
      await Promise.all([jobs, webhooks, alerts, workers, others].map((each) => each?.stop()));
      // Otherwise its row would count for half a minute more.
      if (others !== null) await deps.presence.end().catch(() => {});
    },
  };
}
