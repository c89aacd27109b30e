import { type Keeps, type Plans, retentionCutoff } from '@indelible/protocol';
import type { Queries } from '../postgres/db.ts';
import { execute, rowsOf } from '../postgres/sql.ts';
import {
  type PlanInUse,
  planProblem,
  type StoredPlan,
  sameTerms,
  unitFor,
} from './plan-changes.ts';

/** The retention of a row of `plans`. */
export function keepsOf({ days, years }: { days: number; years: number }): Keeps {
  return days > 0 ? { days } : { years };
}

/** Every plan, also retired ones. */
export async function readPlans(queries: Queries): Promise<StoredPlan[]> {
  const rows = await rowsOf<StoredPlan & { days: number; years: number }>(queries)`
    SELECT name, class, days, years, archive, unit, retired FROM indelible.plans
    WHERE name IS NOT NULL ORDER BY class`;
  return rows.map(({ days, years, ...plan }) => ({ ...plan, keeps: keepsOf({ days, years }) }));
}

/** Plans with their numbers of tenants, and whether their class may contain events. */
async function readPlansInUse(queries: Queries): Promise<PlanInUse[]> {
  const counted = await rowsOf<{ plan: string; tenants: number }>(queries)`
    SELECT plan, count(*)::int AS tenants FROM tenants GROUP BY plan`;
  const used = await rowsOf<{ class: number }>(queries)`
    SELECT DISTINCT class FROM (SELECT unnest(retention_class || other_classes) AS class FROM log_heads
      UNION ALL SELECT class FROM grace WHERE until > now()) AS used`;
  const tenants = new Map(counted.map((row) => [row.plan, row.tenants]));
  const classes = new Set(used.map((row) => row.class));
  return (await readPlans(queries)).map((plan) => ({
    ...plan,
    tenants: tenants.get(plan.name) ?? 0,
    holdsEvents: classes.has(plan.class),
  }));
}

/** Throws an Error that explains how the plans contradict those of the database. */
function requirePossible(stored: readonly PlanInUse[], given: Plans): void {
  const problem = planProblem(stored, given);
  if (problem !== null) throw new Error(`the plans do not fit this database: ${problem}`);
}

/** Throws the same, and if the database does not have these plans yet. */
export async function requirePlans(queries: Queries, given: Plans): Promise<void> {
  const stored = await readPlansInUse(queries);
  requirePossible(stored, given);
  const current = stored.filter(({ retired }) => !retired);
  const isTold =
    current.length === given.all.length &&
    given.all.every((plan) => current.some((each) => sameTerms(each, plan)));
  if (!isTold) throw new Error('the database has other plans; run `indelible migrate`');
}

/** Locks plans and holds until the transaction ends: `open_log` needs the same lock. */
export async function holdPlans(tx: Queries): Promise<void> {
  await execute(tx)`SELECT pg_advisory_xact_lock(hashtext('indelible.plans'))`;
}

/**
 * Stores these plans, as the owner, in a transaction. No tenant's plan changes meanwhile. Events
 * that a longer plan shows again become visible.
 */
export async function storePlans(tx: Queries, given: Plans): Promise<void> {
  await holdPlans(tx);
  // On a cluster every node has the plans: after a read of many tenants they change one by one.
  await tx.query("SET LOCAL citus.multi_shard_modify_mode = 'sequential'");
  const stored = await readPlansInUse(tx);
  requirePossible(stored, given);
  for (const plan of given.all) {
    const { days = 0, years = 0 }: { days?: number; years?: number } = plan.keeps;
    await execute(tx)`
      INSERT INTO plans (class, name, days, years, archive, unit)
      VALUES (${plan.class}, ${plan.name}, ${days}, ${years}, ${plan.archive === true},
        ${unitFor(plan.keeps)})
      ON CONFLICT (class) DO UPDATE SET days = excluded.days, years = excluded.years,
        archive = excluded.archive, retired = false`;
  }
  await execute(tx)`UPDATE plans SET retired = true WHERE name <> ALL (${given.names})`;
  await execute(tx)`SELECT place_partition(class, first) FROM detached_partitions()`;
}

/** The first time that a tenant's plan shows at `nowMs`; null under a hold. */
export function shownFrom(
  { legalHold, ...row }: { days: number; years: number; legalHold: boolean },
  nowMs: number,
): number | null {
  return legalHold ? null : retentionCutoff(keepsOf(row), nowMs);
}
