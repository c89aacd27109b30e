import cluster from 'node:cluster';
import type { Registry } from 'prom-client';

export type Told = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

/** One of several processes asks the first one for the metrics of all, or tells its own. */
export type FromProcess = { metricsFor: number } | { metrics: Told };
export type ToProcess = { metricsFor: number; text: string } | { tellMetrics: true };

/** The metrics of the service: of all its processes, if it is several. */
export function metricsText(registry: Registry): () => Promise<string> {
  if (!cluster.isWorker) return () => registry.metrics();
  const tell = (message: FromProcess) => process.send?.(message);
  const asked = new Map<number, (text: string) => void>();
  process.on('message', (message: ToProcess) => {
    if ('text' in message) {
      asked.get(message.metricsFor)?.(message.text);
      asked.delete(message.metricsFor);
    }
    // Metrics that cannot be read keep the values that were told last.
    if ('tellMetrics' in message)
      registry.getMetricsAsJSON().then(
        (metrics) => tell({ metrics }),
        () => {},
      );
  });
  tell({ metrics: [] }); // it can be asked from now on
  let count = 0;
  return () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    asked.set(++count, resolve);
    tell({ metricsFor: count });
    return promise;
  };
}
