import type { Worker } from 'node:cluster';
import { AggregatorRegistry } from 'prom-client';
import type { FromProcess, Told, ToProcess } from './metrics-text.ts';
import { sharedWhileRunning } from './shared-while-running.ts';

/** A process that does not answer, for example a frozen one, counts as it last did. */
const answerMsMax = 2_000;

/** In the first process: the metrics of all, added up. */
export class SharedMetrics {
  /** What each process last told; one that starts has told nothing yet, and is not asked. */
  readonly #told = new Map<Worker, Told>();
  readonly #asked = new Map<Worker, () => void>();
  /**
   * What the counters of ended processes had reached. Without it the sums would drop, and
   * Prometheus would add all that is left once more.
   */
  #ended: Told[] = [];
  readonly #text = sharedWhileRunning(() => this.#read());

  /** Takes part until the process ends. */
  watch(worker: Worker): void {
    worker.on('message', (message: FromProcess) => {
      if ('metrics' in message) this.#hear(worker, message.metrics);
      if ('metricsFor' in message) void this.#answer(worker, message.metricsFor);
    });
    worker.once('exit', () => {
      // A string, whatever the types of prom-client say.
      const counted = this.#told.get(worker)?.filter(({ type }) => String(type) !== 'gauge');
      if (counted) this.#ended.push(counted);
      this.#told.delete(worker);
      this.#asked.get(worker)?.();
    });
  }

  #hear(worker: Worker, metrics: Told): void {
    this.#told.set(worker, metrics);
    this.#asked.get(worker)?.();
  }

  async #answer(worker: Worker, metricsFor: number): Promise<void> {
    const text = await this.#text();
    if (worker.isConnected()) worker.send({ metricsFor, text } satisfies ToProcess);
  }

  async #read(): Promise<string> {
    await Promise.all([...this.#told.keys()].map((worker) => this.#ask(worker)));
    const ended = this.#ended.splice(0);
    this.#ended.unshift(await AggregatorRegistry.aggregate(ended).getMetricsAsJSON());
    return AggregatorRegistry.aggregate([...this.#ended, ...this.#told.values()]).metrics();
  }

  async #ask(worker: Worker): Promise<void> {
    if (!worker.isConnected()) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const overdue = setTimeout(resolve, answerMsMax);
    this.#asked.set(worker, resolve);
    worker.send({ tellMetrics: true } satisfies ToProcess);
    await promise;
    clearTimeout(overdue);
    this.#asked.delete(worker);
  }
}
