import type { Logger } from 'pino';
import {
  type Aggregator,
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  type Metric,
  Registry,
} from 'prom-client';
import { queueNames } from '../background/index.ts';
import type { FlushObserver } from '../events/index.ts';
import type { CheckpointObserver } from '../log/index.ts';
import type { SourceCounts } from '../sources/index.ts';
import type { WebhookCounts } from '../webhooks/index.ts';
import type { PresenceObserver } from './presence.ts';
import type { DatabaseState, JobWaits } from './processes.store.ts';
import { sharedWhileRunning } from './shared-while-running.ts';

/** The Prometheus registry of one service. Labels never contain tenants, people or ids. */
export interface Metrics {
  registry: Registry;
  flush: FlushObserver;
  checkpoints: CheckpointObserver;
  request(method: string, route: string, status: number, seconds: number): void;
  watchDisk(freeBytes: () => Promise<number>): void;
  watchQueue(depth: () => { events: number; bytes: number }): void;
  /** Background work has ended, successfully or not: `work` as in `background.ts`. */
  ran(work: string, ok: boolean): void;
  webhooks: WebhookMetrics;
  /** `read` is called at each scrape. */
  watchSources(read: () => Promise<SourceCounts>): void;
  watchAlerts(behindEntries: () => Promise<number>): void;
  watchDatabase(read: () => Promise<DatabaseState>): void;
  presence: PresenceObserver;
}

/** Deliveries of this process, and the state of all tenants' webhooks. */
export interface WebhookMetrics {
  attempted(ok: boolean, seconds: number): void;
  /** `read` is called at each scrape. */
  watch(read: () => Promise<WebhookCounts>): void;
}

export function createMetrics(
  logger: Pick<Logger, 'warn'>,
  onFlushError: (error: unknown) => void,
): Metrics {
  const readFailed = (err: unknown) =>
    logger.warn({ err }, 'metrics cannot be read and keep their values');
  const registry = new Registry();
  for (const metric of metricsOfProcess()) registry.registerMetric(metric);
  const registers = [registry];
  const requests = new Histogram({
    name: 'indelible_http_request_seconds',
    help: 'Requests by method, route template and status',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
    registers,
  });
  return {
    registry,
    ran: backgroundMetrics(registers),
    request: (method, route, status, seconds) =>
      requests.observe({ method, route, status }, seconds),
    flush: flushMetrics(registers, logger, onFlushError),
    checkpoints: checkpointMetrics(registers),
    webhooks: webhookMetrics(registers, readFailed),
    presence: presenceMetrics(registers),
    watchSources(read) {
      const gauge = gaugesOf(registers, read, readFailed);
      const gaps = 'Gaps in the numbers of sources that have been open for 15 minutes or longer';
      gauge('indelible_source_gaps', gaps, (counts) => counts.gaps);
      const silent = 'Sources that have stopped sending';
      gauge('indelible_sources_silent', silent, (counts) => counts.silent);
    },
    watchAlerts(read) {
      const help = 'Log entries that alert rules have not evaluated yet';
      gaugesOf(registers, read, readFailed)('indelible_alerts_behind_entries', help, (n) => n);
    },
    watchDatabase(read) {
      const gauge = gaugesOf(registers, read, readFailed);
      gauge('indelible_database_bytes', 'Size of the database', (state) => state.bytes);
      const ran = 'When retention last began to run, in any process or command';
      const seconds = (state: DatabaseState) => state.retentionRanMs / 1_000;
      gauge('indelible_retention_ran_timestamp_seconds', ran, seconds);
    },
    watchDisk(freeBytes) {
      const help = 'Free bytes where the service keeps its files';
      watch(registers, 'indelible_disk_free_bytes', help, freeBytes, seenByAll);
    },
    watchQueue(depth) {
      const help = 'Events waiting or being written';
      watch(registers, 'indelible_queue_events', help, () => depth().events);
      watch(registers, 'indelible_queue_bytes', 'Memory they take', () => depth().bytes);
    },
  };
}

function flushMetrics(
  registers: Registry[],
  logger: Pick<Logger, 'warn'>,
  onFlushError: (error: unknown) => void,
): FlushObserver {
  const flushEvents = new Histogram({
    name: 'indelible_flush_events',
    help: 'Events written by one flush',
    buckets: [1, 4, 16, 64, 128, 256, 500],
    registers,
  });
  const flushSeconds = new Histogram({
    name: 'indelible_flush_seconds',
    help: 'Time of one flush, from lock to commit',
    buckets: [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2],
    registers,
  });
  const failures = new Counter({
    name: 'indelible_flush_failures_total',
    help: 'Flushes that failed',
    registers,
  });
  const events = new Counter({
    name: 'indelible_events_total',
    help: 'Events recorded, by category',
    labelNames: ['category'],
    registers,
  });
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

/** Of several processes each sees the same: their gauges are not added up. */
const seenByAll = { aggregator: 'max' } as const;

/** A gauge that is read with each scrape. */
function watch(
  registers: Registry[],
  name: string,
  help: string,
  read: () => number | Promise<number>,
  ofAll: { aggregator: Aggregator } = { aggregator: 'sum' },
): void {
  new Gauge({
    ...{ name, help, registers, ...ofAll },
    async collect() {
      this.set(await read());
    },
  });
}

/**
 * What several gauges read in one scrape, counted once; null if that failed: they keep their
 * values, and other metrics are served.
 */
function countedOnce<Counts>(
  read: () => Promise<Counts>,
  failed: (error: unknown) => void,
): () => Promise<Counts | null> {
  return sharedWhileRunning(() =>
    read().catch((error: unknown) => {
      failed(error);
      return null;
    }),
  );
}

/** Makes gauges that read these counts, once in each scrape. */
function gaugesOf<Counts>(
  registers: Registry[],
  read: () => Promise<Counts>,
  failed: (error: unknown) => void,
) {
  const counted = countedOnce(read, failed);
  return (name: string, help: string, pick: (counts: Counts) => number) =>
    new Gauge({
      ...{ name, help, registers, ...seenByAll },
      async collect() {
        const counts = await counted();
        if (counts !== null) this.set(pick(counts));
      },
    });
}

function backgroundMetrics(registers: Registry[]): Metrics['ran'] {
  const runs = new Counter({
    name: 'indelible_background_runs_total',
    help: 'Runs of background work, by what it was and how it ended',
    labelNames: ['work', 'outcome'],
    registers,
  });
  const succeeded = new Gauge({
    name: 'indelible_background_succeeded_timestamp_seconds',
    help: 'When this process last ended a run of background work successfully, by what it was',
    labelNames: ['work'],
    registers,
    ...seenByAll,
  });
  return (work, ok) => {
    runs.inc({ work, outcome: ok ? 'done' : 'failed' });
    if (ok) succeeded.setToCurrentTime({ work });
  };
}

function presenceMetrics(registers: Registry[]): PresenceObserver {
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers, ...seenByAll });
  const wait = new Gauge({
    name: 'indelible_jobs_wait_seconds',
    help: 'How long the background job that has been due longest has waited, by what it is',
    labelNames: ['work'],
    registers,
    ...seenByAll,
  });
  const failures = gauge(
    'indelible_misconfigured',
    'Settings that processes on this database must share and do not; the log says which',
  );
  const ahead = gauge(
    'indelible_clock_ahead_seconds',
    "The clock of this machine against PostgreSQL's, by which the service goes",
  );
  const show = (waits: JobWaits) => {
    for (const work of queueNames) wait.set({ work }, waits[work] ?? 0);
  };
  show({});
  return {
    looked(seen) {
      show(seen.waits);
      failures.set(seen.failures);
      ahead.set(seen.clockAheadMs / 1_000);
    },
  };
}

function checkpointMetrics(registers: Registry[]): CheckpointObserver {
  const published = new Counter({
    name: 'indelible_checkpoints_total',
    help: 'Checkpoints published',
    registers,
  });
  const failures = new Counter({
    name: 'indelible_checkpoint_failures_total',
    help: 'Rounds that could not be published',
    registers,
  });
  const halted = new Gauge({
    name: 'indelible_log_halted',
    help: '1 while recording and signing are stopped because the log contradicts what was published',
    registers,
    ...seenByAll,
  });
  const foreign = new Counter({
    name: 'indelible_foreign_objects_total',
    help: 'Objects with the name of a round of checkpoints that the service did not sign',
    registers,
  });
  return {
    foreignObject: () => foreign.inc(),
    published: (checkpoints) => published.inc(checkpoints),
    roundFailed: () => failures.inc(),
    halted: (reason) => halted.set(reason === null ? 0 : 1),
  };
}

function webhookMetrics(
  registers: Registry[],
  readFailed: (error: unknown) => void,
): WebhookMetrics {
  const seconds = new Histogram({
    name: 'indelible_webhook_delivery_seconds',
    help: 'Attempts to deliver to webhooks, by outcome',
    labelNames: ['outcome'],
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  });
  return {
    attempted: (ok, took) => seconds.observe({ outcome: ok ? 'delivered' : 'failed' }, took),
    watch(read) {
      const counted = countedOnce(read, readFailed);
      new Gauge({
        name: 'indelible_webhooks',
        help: 'Webhooks by state: active, failing (the last attempt failed), paused',
        labelNames: ['state'],
        registers,
        ...seenByAll,
        async collect() {
          const counts = await counted();
          for (const state of ['active', 'failing', 'paused'] as const) {
            if (counts) this.set({ state }, counts[state]);
          }
        },
      });
      new Gauge({
        name: 'indelible_webhook_behind_entries',
        help: 'Log entries that active webhooks have not reached yet',
        registers,
        ...seenByAll,
        async collect() {
          const counts = await counted();
          if (counts) this.set(counts.behind);
        },
      });
    },
  };
}
