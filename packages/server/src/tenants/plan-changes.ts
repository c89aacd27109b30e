import {
  counted,
  isShorter,
  type Keeps,
  lengthDays,
  type PlanDefinition,
  type Plans,
} from '@indelible/protocol';

/** The unit of a class's partitions. Permanent, because ranges of one class must not overlap. */
export type PartitionUnit = 'day' | 'month';

export interface StoredPlan extends PlanDefinition {
  archive: boolean;
  unit: PartitionUnit;
  /** The CATALOGUE_FILE no longer contains it; its class stays reserved. */
  retired: boolean;
}

export interface PlanInUse extends StoredPlan {
  tenants: number;
  /** Whether its class may contain events of a tenant. */
  holdsEvents: boolean;
}

const dailyDaysMax = 92;
const dailyPartitionsMax = 366;

/** Daily partitions are dropped soon after their events; years would need too many. */
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
 * Why the stored plans cannot be replaced by the given ones, for the operator; null if they can. A
 * plan's retention cannot be shortened here. That needs another plan and a change of the tenant,
 * which is recorded in its log and has a grace.
 */
export function planProblem(stored: readonly PlanInUse[], given: Plans): string | null {
  for (const former of stored) {
    const { name, tenants } = former;
    const plan = given.named(name);
    const problem = plan ? changeProblem(former, plan) : classProblem(former, given);
    if (problem !== null) return problem;
    if (!plan && tenants > 0) {
      const having = counted(tenants, 'tenant has', 'tenants have');
      return `${having} the plan ${name}, which CATALOGUE_FILE does not name: name it there, or give them another plan first`;
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
  return 'days' in keeps ? counted(keeps.days, 'day') : counted(keeps.years, 'year');
}
