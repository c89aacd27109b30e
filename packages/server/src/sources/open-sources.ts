import type { FastifyInstance } from 'fastify';
import type { RecordAccess } from '../access/index.ts';
import { sourceRoutes } from './routes.ts';
import { countSources, type SourceCounts } from './store.ts';
import { type TellDeps, tellSources } from './tell-sources.ts';

export interface SourceDeps extends Omit<TellDeps, 'silentMs'> {
  recordAccess: RecordAccess;
  config: { sourceSilentMs: number };
  metrics: { watchSources(read: () => Promise<SourceCounts>): void };
}

/** Call and metrics; returns the background work. */
export function openSources(app: FastifyInstance, deps: SourceDeps): () => Promise<boolean> {
  sourceRoutes(app, deps);
  deps.metrics.watchSources(() => countSources(deps.db.writer));
  return () => tellSources({ ...deps, silentMs: deps.config.sourceSilentMs });
}
