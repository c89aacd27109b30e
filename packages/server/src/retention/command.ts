import type { Logger } from 'pino';
import { type Config, type Environment, readConfig } from '../config.ts';
import { runAsOwner, withMigratedSession } from '../postgres/run-as-owner.ts';
import { recordOwnIn } from '../record/own-events.store.ts';
import {
  planRetention,
  type RetentionDeps,
  type RetentionPlan,
  type RetentionRun,
  runRetention,
} from './retention.job.ts';

/**
 * `indelible retention run`: one run of the job, see `runRetention`; null if another process runs
 * it. Runs as the owner: of DATABASE_OWNER_URL, or of the embedded PostgreSQL, which a service may
 * be using. Throws an Error with a sentence for the operator.
 */
export function retentionRun(env: Environment): Promise<RetentionRun | null> {
  const config = readConfig(env);
  return runAsOwner(config, failed, (ownerUrl) => runRetentionAs(ownerUrl, config));
}

/** `indelible retention plan`: what such a run would do. */
export function retentionPlan(env: Environment): Promise<RetentionPlan> {
  return runAsOwner(readConfig(env), failed, (ownerUrl) =>
    withMigratedSession(ownerUrl, (owner) => planRetention(owner, owner.now())),
  );
}

const failed = 'retention cannot run';

/** Runs retention for a service that runs the job itself. */
export function runRetentionAs(
  ownerUrl: string,
  { catalogue }: Pick<Config, 'catalogue'>,
  options: Partial<RetentionDeps> = {},
): Promise<RetentionRun | null> {
  return withMigratedSession(ownerUrl, async (owner) => {
    const { now = owner.now, ...more } = options;
    const recordOwn = await recordOwnIn(owner, catalogue, now);
    return runRetention(owner, { now, recordOwn, ...more });
  });
}

/** A run of a service with the owner's login; null if another process runs it. */
export async function retainInBackground(
  ownerUrl: string,
  config: Pick<Config, 'catalogue'>,
  logger: Logger,
  stopping: AbortSignal,
): Promise<true | null> {
  const run = await runRetentionAs(ownerUrl, config, { stopping });
  if (run === null) return null;
  logger.info(told(run), 'the retention run has finished');
  return true;
}

/** Counts only: the service's log names no tenant. */
function told({ moved, tenants, dropped, waiting }: RetentionRun) {
  const removed = tenants.reduce((sum, { count }) => sum + count, 0);
  return { moved, removed, dropped: dropped.length, waiting: waiting.length };
}
