import {
  isShorter,
  type Keeps,
  lengthDays,
  type PlanDefinition,
  type Plans,
} from '@indelible/protocol';

/** What one partition of a class holds, for good: ranges of one class must not overlap. */
export type PartitionUnit = 'day' | 'month';

export interface StoredPlan extends PlanDefinition {
  archive: boolean;
  unit: PartitionUnit;
  /** The CATALOGUE_FILE no longer names it; its class stays taken. */
  retired: boolean;
}

export interface PlanInUse extends StoredPlan {
  tenants: number;
  /** Whether events of a tenant may lie in its class. */
  holdsEvents: boolean;
}

const dailyDaysMax = 92;
const dailyPartitionsMax = 366;

/** Daily partitions go soon after their events; for years there would be too many. */
export function unitFor(keeps: Keeps): PartitionUnit {
  return lengthDays(keeps) <= dailyDaysMax ? 'day' : 'month';
}

export function sameTerms(stored: StoredPlan, given: PlanDefinition): boolean {
  return (
    stored.name === given.name &&
    stored.class === given.class &&
    stored.archive === (given.archive === true) &&
    lengthDays(stored.keeps) === lengthDays(given.keeps)
  );
}

/**
 * Why a database with the stored plans cannot take the given ones, for the operator; null if it
 * can. Nothing here takes a tenant's events away: keeping less takes another plan, and a change of
 * the tenant's plan, which its log records and which has its grace.
 */
export function planProblem(stored: readonly PlanInUse[], given: Plans): string | null {
  for (const former of stored) {
    const { name, tenants } = former;
    const plan = given.named(name);
    const problem = plan ? changeProblem(former, plan) : classProblem(former, given);
    if (problem !== null) return problem;
    if (!plan && tenants > 0) {
      return `${tenants} tenant(s) have the plan ${name}, which is no longer named: give them another one first`;
    }
  }
  return null;
}

function classProblem({ name, class: number }: StoredPlan, given: Plans): string | null {
  const other = given.ofClass(number);
  if (!other) return null;
  return `the class ${number} of the plan ${other.name} was that of the plan ${name}: no class is used again`;
}

function changeProblem(former: PlanInUse, plan: PlanDefinition): string | null {
  const { name, keeps, unit, tenants, holdsEvents } = former;
  if (plan.class !== former.class) {
    return `the plan ${name} has the class ${former.class}, which cannot become ${plan.class}`;
  }
  if ((tenants > 0 || holdsEvents) && isShorter(plan.keeps, keeps)) {
    return (
      `the plan ${name} has promised its tenants ${lengthText(keeps)}, and cannot keep ` +
      `${lengthText(plan.keeps)}: add another plan for that, and move tenants to it`
    );
  }
  if (unit === 'day' && lengthDays(plan.keeps) > dailyPartitionsMax) {
    return `the plan ${name} has daily partitions and cannot keep more than ${dailyPartitionsMax} days: add another plan`;
  }
  return null;
}

function lengthText(keeps: Keeps): string {
  return 'days' in keeps ? `${keeps.days} day(s)` : `${keeps.years} year(s)`;
}
