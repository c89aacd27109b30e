import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { FlushObserver } from './events/flush.job.ts';
import type { CheckpointObserver } from './log/checkpoint.job.ts';

/** The Prometheus registry of one service. Labels never hold tenants, people or ids. */
export interface Metrics {
  registry: Registry;
  flush: FlushObserver;
  checkpoints: CheckpointObserver;
  request(method: string, route: string, status: number, seconds: number): void;
  watchQueue(depth: () => { events: number; bytes: number }): void;
}

export function createMetrics(onFlushError: (error: unknown) => void): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const requests = new Histogram({
    name: 'indelible_http_request_seconds',
    help: 'Requests by method, route template and status',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
    registers,
  });
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
    registry,
    request: (method, route, status, seconds) =>
      requests.observe({ method, route, status }, seconds),
    flush: {
      flushed(count, seconds) {
        flushEvents.observe(count);
        flushSeconds.observe(seconds);
      },
      created: (category) => events.inc({ category }),
      failed(error) {
        failures.inc();
        onFlushError(error);
      },
    },
    checkpoints: checkpointMetrics(registers),
    watchQueue(depth) {
      const gauge = (name: string, help: string, read: () => number) =>
        new Gauge({
          name,
          help,
          registers,
          collect() {
            this.set(read());
          },
        });
      gauge('indelible_queue_events', 'Events waiting or being written', () => depth().events);
      gauge('indelible_queue_bytes', 'Memory they take', () => depth().bytes);
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
  });
  const foreign = new Counter({
    name: 'indelible_foreign_objects_total',
    help: 'Objects in the place of a round of checkpoints that the service did not sign',
    registers,
  });
  return {
    foreignObject: () => foreign.inc(),
    published: (checkpoints) => published.inc(checkpoints),
    roundFailed: () => failures.inc(),
    halted: (reason) => halted.set(reason === null ? 0 : 1),
  };
}
