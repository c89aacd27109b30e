import type { FastifyInstance } from 'fastify';
import type { LeasedWorker } from '../background/index.ts';
import { type AlertMailDeps, handleAlertMail } from './alert-mail.job.ts';
import type { LeasedCursor } from './cursor.store.ts';
import { createAlertWorker, type EvaluateDeps } from './evaluate.job.ts';
import { type AlertRouteDeps, alertRoutes } from './routes.ts';

export interface AlertDeps extends AlertRouteDeps, EvaluateDeps, AlertMailDeps {}

/** Calls and mail; returns the background work. */
export function openAlerts(http: FastifyInstance, deps: AlertDeps): LeasedWorker<LeasedCursor> {
  alertRoutes(http, deps);
  handleAlertMail(deps);
  return createAlertWorker(deps);
}
