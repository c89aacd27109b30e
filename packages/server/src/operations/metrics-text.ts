import cluster from 'node:cluster';
import { AggregatorRegistry, type Registry } from 'prom-client';
import { unavailable } from '../http/index.ts';

/** One of several processes asks the first one for the metrics of all. */
export interface MetricsQuestion {
  metricsFor: number;
}

/** Null if a process did not answer in time. */
export interface MetricsAnswer extends MetricsQuestion {
  text: string | null;
}

/** The metrics of the service: of all its processes, if it is several. */
export function metricsText(registry: Registry): () => Promise<string> {
  if (!cluster.isWorker) return () => registry.metrics();
  AggregatorRegistry.setRegistries([registry]);
  new AggregatorRegistry(); // answers the primary's questions from now on
  let asked = 0;
  return () => {
    const id = asked++;
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const hear = ({ metricsFor, text }: MetricsAnswer) => {
      if (metricsFor !== id) return;
      process.off('message', hear);
      if (text === null) reject(unavailable('a process of the service did not answer in time'));
      else resolve(text);
    };
    process.on('message', hear);
    process.send?.({ metricsFor: id } satisfies MetricsQuestion);
    return promise;
  };
}
