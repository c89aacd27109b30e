import type { Logger } from 'pino';
import {
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  type Metric,
  Registry,
} from 'prom-client';
import { queueNames } from '../background/jobs.ts';
import type { CheckpointObserver } from '../log/checkpoint.job.ts';
import type { FlushObserver } from '../record/flush.ts';
import type { SourceCounts } from '../sources/store.ts';
import type { WebhookCounts } from '../webhooks/lease.store.ts';
import type { Seen } from './presence.ts';
import type { DatabaseState, JobWaits } from './processes.store.ts';
import { sharedWhileRunning } from './shared-while-running.ts';

/** The Prometheus registry of one service. Labels never contain tenants, people or ids. */
export type Metrics = ReturnType<typeof createMetrics>;

export function createMetrics(
  logger: Pick<Logger, 'warn'>,
  onFlushError: (error: unknown) => void,
) {
  const registry = new Registry();
  for (const metric of metricsOfProcess()) registry.registerMetric(metric);
  const make = makersOf(registry, (err) =>
    logger.warn({ err }, 'metrics cannot be read and keep their values'),
  );
  const requests = make.histogram(
    'indelible_http_request_seconds',
    'Requests by method, route template and status',
    [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
    ['method', 'route', 'status'],
  );
  return {
    registry,
    /** Background work has ended, successfully or not: `work` as in `background.ts`. */
    ran: backgroundMetrics(make),
    request: (method: string, route: string, status: number, seconds: number) =>
      requests.observe({ method, route, status }, seconds),
    flush: flushMetrics(make, logger, onFlushError),
    checkpoints: checkpointMetrics(make),
    webhooks: webhookMetrics(make),
    presence: presenceMetrics(make),
    /** `read` is called at each scrape, here and below. */
    watchSources(read: () => Promise<SourceCounts>) {
      const gauge = make.gaugesOf(read);
      const gaps = 'Gaps in the numbers of sources that have been open for 15 minutes or longer';
      gauge('indelible_source_gaps', gaps, (shown, counts) => shown.set(counts.gaps));
      const silent = 'Sources that have stopped sending';
      gauge('indelible_sources_silent', silent, (shown, counts) => shown.set(counts.silent));
    },
    watchAlerts(read: () => Promise<number>) {
      const help = 'Log entries that alert rules have not evaluated yet';
      make.gaugesOf(read)('indelible_alerts_behind_entries', help, (shown, n) => shown.set(n));
    },
    watchDatabase(read: () => Promise<DatabaseState>) {
      const gauge = make.gaugesOf(read);
      gauge('indelible_database_bytes', 'Size of the database', (shown, { bytes }) =>
        shown.set(bytes),
      );
      const ran = 'When retention last began to run, in any process or command';
      gauge('indelible_retention_ran_timestamp_seconds', ran, (shown, { retentionRanMs }) =>
        shown.set(retentionRanMs / 1_000),
      );
    },
    watchDisk(freeBytes: () => Promise<number>) {
      const help = 'Free bytes where the service keeps its files';
      make.watched('indelible_disk_free_bytes', help, freeBytes);
    },
    watchQueue(depth: () => { events: number; bytes: number }) {
      const help = 'Events waiting or being written';
      make.watched('indelible_queue_events', help, () => depth().events);
      make.watched('indelible_queue_bytes', 'Memory they take', () => depth().bytes);
    },
  };
}

type Makers = ReturnType<typeof makersOf>;

/** Makes metrics of a registry. Those that cannot be read keep their values. */
function makersOf(registry: Registry, readFailed: (error: unknown) => void) {
  const registers = [registry];
  return {
    counter: (name: string, help: string, labelNames: string[] = []) =>
      new Counter({ name, help, labelNames, registers }),
    histogram: (name: string, help: string, buckets: number[], labelNames: string[] = []) =>
      new Histogram({ name, help, buckets, labelNames, registers }),
    gauge: (name: string, help: string, labelNames: string[] = []) =>
      new Gauge({ name, help, labelNames, registers }),
    /** Read with each scrape. */
    watched: (name: string, help: string, read: () => number | Promise<number>) =>
      new Gauge({
        name,
        help,
        registers,
        async collect() {
          this.set(await read());
        },
      }),
    /** Gauges that show the same counts, which are read once in each scrape. */
    gaugesOf<Counts>(read: () => Promise<Counts>) {
      const counted = sharedWhileRunning(() =>
        read().then(
          (counts) => ({ counts }),
          (error: unknown) => readFailed(error),
        ),
      );
      return (
        name: string,
        help: string,
        show: (gauge: Gauge, counts: Counts) => void,
        labelNames: string[] = [],
      ) =>
        new Gauge({
          name,
          help,
          labelNames,
          registers,
          async collect() {
            const found = await counted();
            if (found) show(this, found.counts);
          },
        });
    },
  };
}

function flushMetrics(
  make: Makers,
  logger: Pick<Logger, 'warn'>,
  onFlushError: (error: unknown) => void,
): FlushObserver {
  const sizes = [1, 4, 16, 64, 128, 256, 500];
  const flushEvents = make.histogram(
    'indelible_flush_events',
    'Events written by one flush',
    sizes,
  );
  const times = [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2];
  const timed = 'Time of one flush, from lock to commit';
  const flushSeconds = make.histogram('indelible_flush_seconds', timed, times);
  const failures = make.counter('indelible_flush_failures_total', 'Flushes that failed');
  const recorded = 'Events recorded, by category';
  const events = make.counter('indelible_events_total', recorded, ['category']);
  return {
    flushed(count, seconds) {
      flushEvents.observe(count);
      flushSeconds.observe(seconds);
    },
    created: (category) => events.inc({ category }),
    failed(error) {
      failures.inc();
      logger.warn({ err: error }, 'a flush failed');
      onFlushError(error);
    },
  };
}

let ofProcess: Registry | undefined;

/** Collected once: the timer that measures the event loop's delay runs until the process ends. */
function metricsOfProcess(): Metric[] {
  if (ofProcess === undefined) {
    ofProcess = new Registry();
    collectDefaultMetrics({ register: ofProcess });
  }
  const registry = ofProcess;
  const names = registry.getMetricsAsArray().map(({ name }) => name);
  return names.flatMap((name) => registry.getSingleMetric(name) ?? []);
}

function backgroundMetrics(make: Makers) {
  const runs = make.counter(
    'indelible_background_runs_total',
    'Runs of background work, by what it was and how it ended',
    ['work', 'outcome'],
  );
  const succeeded = make.gauge(
    'indelible_background_succeeded_timestamp_seconds',
    'When this process last ended a run of background work successfully, by what it was',
    ['work'],
  );
  return (work: string, ok: boolean) => {
    runs.inc({ work, outcome: ok ? 'done' : 'failed' });
    if (ok) succeeded.setToCurrentTime({ work });
  };
}

function presenceMetrics(make: Makers) {
  const wait = make.gauge(
    'indelible_jobs_wait_seconds',
    'How long the background job that has been due longest has waited, by what it is',
    ['work'],
  );
  const failures = make.gauge(
    'indelible_misconfigured',
    'Settings that processes on this database must share and do not; the log says which',
  );
  const ahead = make.gauge(
    'indelible_clock_ahead_seconds',
    "The clock of this machine against PostgreSQL's, by which the service goes",
  );
  const show = (waits: JobWaits) => {
    for (const work of queueNames) wait.set({ work }, waits[work] ?? 0);
  };
  show({});
  return (seen: Seen) => {
    show(seen.waits);
    failures.set(seen.failures);
    ahead.set(seen.clockAheadMs / 1_000);
  };
}

function checkpointMetrics(make: Makers): CheckpointObserver {
  const published = make.counter('indelible_checkpoints_total', 'Checkpoints published');
  const failures = make.counter(
    'indelible_checkpoint_failures_total',
    'Rounds that could not be published',
  );
  const halted = make.gauge(
    'indelible_log_halted',
    '1 while recording and signing are stopped because the log contradicts what was published',
  );
  const lost = make.gauge(
    'indelible_store_lost',
    '1 while nothing is signed because the object store does not show identity and last round',
  );
  const foreign = make.counter(
    'indelible_foreign_objects_total',
    'Objects with the name of a round of checkpoints that the service did not sign',
  );
  return {
    foreignObject: () => foreign.inc(),
    publishedAgain: () => {},
    storeLost: (reason) => lost.set(reason === null ? 0 : 1),
    published: (checkpoints) => published.inc(checkpoints),
    roundFailed: () => failures.inc(),
    halted: (reason) => halted.set(reason === null ? 0 : 1),
  };
}

/** Deliveries of this process, and the state of all tenants' webhooks. */
function webhookMetrics(make: Makers) {
  const seconds = make.histogram(
    'indelible_webhook_delivery_seconds',
    'Attempts to deliver to webhooks, by outcome',
    [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    ['outcome'],
  );
  return {
    attempted: (ok: boolean, took: number) =>
      seconds.observe({ outcome: ok ? 'delivered' : 'failed' }, took),
    watch(read: () => Promise<WebhookCounts>) {
      const gauge = make.gaugesOf(read);
      const states = ['active', 'failing', 'paused'] as const;
      const byState = 'Webhooks by state: active, failing (the last attempt failed), paused';
      const show = (shown: Gauge, counts: WebhookCounts) => {
        for (const state of states) shown.set({ state }, counts[state]);
      };
      gauge('indelible_webhooks', byState, show, ['state']);
      const help = 'Log entries that active webhooks have not reached yet';
      gauge('indelible_webhook_behind_entries', help, (shown, { behind }) => shown.set(behind));
    },
  };
}
