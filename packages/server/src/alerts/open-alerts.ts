import type { FastifyInstance } from 'fastify';
import type { LeasedWorker } from '../background/leased-worker.ts';
import { type AlertMailDeps, handleAlertMail } from './alert-mail.job.ts';
import { countBehind, type LeasedCursor } from './cursor.store.ts';
import { createAlertWorker, type EvaluateDeps } from './evaluate.job.ts';
import { type AlertRouteDeps, alertRoutes } from './routes.ts';

export interface AlertDeps extends AlertRouteDeps, EvaluateDeps, AlertMailDeps {
  metrics: { watchAlerts(behindEntries: () => Promise<number>): void };
}

/** Calls, mail and metrics; returns the background work. */
export function openAlerts(http: FastifyInstance, deps: AlertDeps): LeasedWorker<LeasedCursor> {
  alertRoutes(http, deps);
  handleAlertMail(deps);
  deps.metrics.watchAlerts(() => countBehind(deps.db.writer));
  return createAlertWorker(deps);
}
