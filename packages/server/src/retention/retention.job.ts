import { setTimeout as pause } from 'node:timers/promises';
import type { OwnerSession } from '../postgres/db.ts';
import { announcePartitions } from '../postgres/partitions.store.ts';
import { removeExpiredWords } from '../words/forget-words.ts';
import { findDue } from './find-due.ts';
import { makePartitionsAhead } from './partitions.store.ts';
import {
  batchRowsUsually,
  countRemoval,
  planRemovals,
  type RemovalDeps,
  type Removed,
  removeExpired,
} from './removal.ts';
import { lookAtClock } from './schedule.ts';
import { closeClasses, countUnsettled, settleTenants } from './settle.ts';
import {
  keepSeenTime,
  readSeenTime,
  readTerms,
  releaseRetentionLock,
  takeRetentionLock,
} from './terms.store.ts';

export interface RetentionDeps extends RemovalDeps {
  now: () => number;
  /** How far ahead partitions are made; default three months. */
  daysAhead?: number;
  /**
   * Pauses, in ms, between attempts at what waits for readers; default: an hour of them.
   */
  retryMs?: readonly number[];
}

const daysAheadUsually = 92;

// Until the next run begins. With cron there may be one a day, and a backup takes long.
const retryMsUsually = [15_000, 30_000, 60_000, ...new Array<number>(29).fill(120_000)];

export interface RetentionRun extends Removed {
  /** The time that it used; null while no earlier run has seen the clock. */
  believedMs: number | null;
  /** Events moved to the class of their tenant's plan. */
  moved: number;
}

/**
 * One run of the retention job: makes partitions ahead, moves each tenant to one class, and removes
 * expired events. Retries what waits for readers, for as long as there are pauses.
 * After an interruption the next run continues. Null if another process runs it.
 */
export async function runRetention(
  owner: OwnerSession,
  deps: RetentionDeps,
): Promise<RetentionRun | null> {
  if (!(await takeRetentionLock(owner))) return null;
  let [run, isSettled] = await runOnce(owner, deps);
  for (const retryMs of deps.retryMs ?? retryMsUsually) {
    if (run.waiting.length === 0 && isSettled) break;
    await releaseRetentionLock(owner); // to an erasure, which need not wait for a backup
    await pause(retryMs, undefined, deps.stopping ? { signal: deps.stopping } : {});
    if (!(await takeRetentionLock(owner))) continue;
    const [next, isSettledNow] = await runOnce(owner, deps);
    [run, isSettled] = [continued(run, next), isSettledNow];
  }
  return run;
}

function continued(run: RetentionRun, next: RetentionRun): RetentionRun {
  return {
    ...next,
    moved: run.moved + next.moved,
    tenants: [...run.tenants, ...next.tenants],
    dropped: [...run.dropped, ...next.dropped],
  };
}

/** Runs once; returns also whether no move waits for transactions that read events. */
async function runOnce(
  owner: OwnerSession,
  deps: RetentionDeps,
): Promise<[RetentionRun, isSettled: boolean]> {
  const { batchRows = batchRowsUsually, stopping, readersMs } = deps;
  const nowMs = deps.now();
  await makePartitionsAhead(owner, nowMs, deps.daysAhead ?? daysAheadUsually);
  const time = lookAtClock(await readSeenTime(owner), nowMs);
  await keepSeenTime(owner, time);
  const moved = await settleTenants(owner, { batchRows, stopping, readersMs }, nowMs);
  const { believedMs } = time;
  const removed = believedMs === null ? nothing : await removeExpired(owner, deps, believedMs);
  await announcePartitions(owner); // also what a change of plan, or a killed run, has attached
  await closeClasses(owner);
  await removeExpiredWords(owner, nowMs, stopping);
  return [{ believedMs, moved: moved ?? 0, ...removed }, moved !== null];
}

const nothing: Removed = { tenants: [], dropped: [], waiting: [], kept: [] };

export type RetentionPlan = Awaited<ReturnType<typeof planRetention>>;

/** What a run would do now. Changes nothing; may run beside a run. */
export async function planRetention(owner: OwnerSession, nowMs: number) {
  const { believedMs } = lookAtClock(await readSeenTime(owner), nowMs);
  const moving = await countUnsettled(owner, nowMs);
  const { whole, kept, pieces } =
    believedMs === null ? { whole: [], kept: [], pieces: [] } : await findDue(owner, believedMs);
  const dropping = whole.map(({ name }) => name);
  const removals = [...(await planRemovals(owner, whole, pieces)).values()];
  const terms = await readTerms(
    owner,
    removals.map(({ tenantId }) => tenantId),
  );
  const tenants = [];
  for (const removal of removals) {
    const { tenantId } = removal;
    const { cutoffMs, count } = await countRemoval(owner, removal, dropping);
    const { name = '', plan = '' } = terms.get(tenantId) ?? {};
    if (count > 0) tenants.push({ tenantId, name, plan, cutoffMs, count });
  }
  return { believedMs, moving, tenants, dropping, kept };
}
