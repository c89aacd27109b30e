import { createCatalogue } from '@indelible/protocol';
import type { Logger } from 'pino';
import { type Config, type Environment, readConfig } from './config.ts';
import { connectionProblem, type OwnerSession, withOwnerSession } from './db.ts';
import { runningServerUrl } from './embedded-postgres/running-server.ts';
import { startEmbeddedPostgres } from './embedded-postgres.ts';
import { recordOwnWith } from './events/own-events.store.ts';
import { createPartitionKeeper } from './events/partitions.ts';
import { readServiceId } from './events/store.ts';
import { createUuidSource } from './events/uuid-source.ts';
import { migrate, pendingMigrations } from './migrate.ts';
import { createRandom } from './random.ts';
import { placePartition } from './retention/partitions.store.ts';
import {
  planRetention,
  type RetentionPlan,
  type RetentionRun,
  runRetention,
} from './retention/retention.job.ts';
import { sha } from './sha256.ts';

export type { RetentionPlan, RetentionRun } from './retention/retention.job.ts';

/**
 * `indelible retention run`: one run of the job, see `runRetention`; null when another process is at it.
 * Runs as the owner: of DATABASE_OWNER_URL, or of the embedded PostgreSQL, which a service may be using.
 * Throws an Error whose message is one sentence for the operator.
 */
export function retentionRun(env: Environment): Promise<RetentionRun | null> {
  const config = readConfig(env);
  return withOwner(config, (ownerUrl) => runRetentionAs(ownerUrl, config));
}

/** `indelible retention plan`: what such a run would do. */
export function retentionPlan(env: Environment): Promise<RetentionPlan> {
  return withOwner(readConfig(env), (ownerUrl) =>
    withOwnerSession(ownerUrl, async (owner) => {
      await requireMigrated(owner);
      return planRetention(owner, Date.now());
    }),
  );
}

/** The same for a service that runs the job itself. */
export function runRetentionAs(
  ownerUrl: string,
  { sensitiveTypes }: Pick<Config, 'sensitiveTypes'>,
  options: { now?: () => number; stopping?: AbortSignal } = {},
): Promise<RetentionRun | null> {
  const { now = Date.now, ...more } = options;
  return withOwnerSession(ownerUrl, async (owner) => {
    await requireMigrated(owner);
    const recordOwn = await recordOwnIn(owner, sensitiveTypes, now);
    return runRetention(owner, { now, recordOwn, ...more });
  });
}

const firstRunMs = 30_000;
const runEveryMs = 3_600_000;

/**
 * Runs the job every hour for as long as a service lives. The function returned ends that: it waits for
 * the step a run is at, and the next run goes on from there.
 */
export function scheduleRetention(
  ownerUrl: string,
  config: Pick<Config, 'sensitiveTypes'>,
  logger: Logger,
): () => Promise<void> {
  const ending = new AbortController();
  const stopping = ending.signal;
  let running: Promise<void> = Promise.resolve();
  const tick = () => {
    running = running.then(async () => {
      if (stopping.aborted) return;
      const run = await runRetentionAs(ownerUrl, config, { stopping });
      if (run) logger.info(told(run), 'retention has run');
    });
    running = running.catch((err: unknown) => {
      if (!stopping.aborted) logger.error({ err }, 'retention has to wait for its next run');
    });
  };
  // Not with the start: whatever it needs was made by the last run, or by the migration.
  const first = setTimeout(tick, firstRunMs);
  const timer = setInterval(tick, runEveryMs);
  return () => {
    ending.abort(new Error('the service is stopping'));
    clearTimeout(first);
    clearInterval(timer);
    return running;
  };
}

/** Counts alone: the log of the service names no tenant. */
function told({ moved, tenants, dropped, waiting }: RetentionRun) {
  const removed = tenants.reduce((sum, { count }) => sum + count, 0);
  return { moved, removed, dropped: dropped.length, waiting: waiting.length };
}

async function withOwner<T>(config: Config, work: (ownerUrl: string) => Promise<T>): Promise<T> {
  const { databaseUrl, databaseOwnerUrl, dataDir } = config;
  const url = databaseUrl === null ? runningServerUrl(dataDir) : (databaseOwnerUrl ?? databaseUrl);
  if (url !== null) return work(url).catch(explained);
  const embedded = await startEmbeddedPostgres({ dataDir, log: () => {} });
  try {
    await migrate(embedded.ownerUrl, embedded.servingUrl, Date.now());
    return await work(embedded.ownerUrl).catch(explained);
  } finally {
    await embedded.stop();
  }
}

function explained(cause: unknown): never {
  throw new Error(`retention cannot run: ${connectionProblem(cause)}`, { cause });
}

async function requireMigrated(owner: OwnerSession): Promise<void> {
  const pending = await pendingMigrations(owner);
  if (pending.length > 0) throw new Error(`it lacks ${pending.join(', ')}; migrate it first`);
}

/** Records as the service would, in whatever transaction of this session is open. */
export async function recordOwnIn(
  owner: OwnerSession,
  sensitiveTypes: readonly string[],
  now: () => number,
) {
  const random = createRandom();
  return recordOwnWith({
    sha,
    random,
    newUuid: createUuidSource(random),
    catalogue: createCatalogue({ sensitiveTypes }),
    now,
    serviceId: await readServiceId(owner),
    // Made ahead a moment ago, so that none is made while a head is locked.
    partitions: createPartitionKeeper(({ retentionClass, timeMs }) =>
      placePartition(owner, retentionClass, timeMs),
    ),
  });
}
