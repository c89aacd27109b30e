/** The plans a tenant can have, and how far back each lets its events be seen. */

/** How long events are kept: days, or years of the calendar. */
export type Keeps = { days: number } | { years: number };

export interface PlanDefinition {
  name: string;
  /** The retention class of its tenants' events, for good: a number is never used again. */
  class: number;
  keeps: Keeps;
  /** Whether its tenants' logs are archived. */
  archive?: boolean;
}

/** The class of tenants under legal hold, which keeps everything. No plan can have it. */
export const heldClass = 3;

const definitions = [
  { name: 'Starter', class: 0, keeps: { days: 30 } },
  { name: 'Pro', class: 1, keeps: { years: 1 } },
  { name: 'Enterprise', class: 2, keeps: { years: 7 }, archive: true },
] as const satisfies PlanDefinition[];

/** A plan's name: one of the default plans, or of the service's CATALOGUE_FILE. */
export type Plan = (typeof definitions)[number]['name'] | (string & Record<never, never>);

export interface Plans {
  /** As they were given. */
  readonly all: readonly PlanDefinition[];
  readonly names: string[];
  /** The plan that keeps events for the shortest time. */
  readonly shortest: PlanDefinition;
  named(name: string): PlanDefinition | null;
  /** Null for the class of legal holds, and for one that nobody knows. */
  ofClass(retentionClass: number): PlanDefinition | null;
}

/** Throws RangeError with a sentence for the operator: repeated names, classes that are taken. */
export function createPlans(all: readonly PlanDefinition[]): Plans {
  const byName = new Map(all.map((plan) => [plan.name, plan]));
  const byClass = new Map(all.map((plan) => [plan.class, plan]));
  const [first] = all;
  if (!first) throw new RangeError('there must be a plan');
  for (const plan of all) {
    const { name, class: number } = plan;
    if (byName.get(name) !== plan) throw new RangeError(`two plans are called ${name}`);
    const other = byClass.get(number);
    if (other && other !== plan) {
      throw new RangeError(`the plans ${name} and ${other.name} both have the class ${number}`);
    }
    if (number === heldClass) {
      throw new RangeError(
        `the plan ${name} cannot have the class ${number}: it is of legal holds`,
      );
    }
  }
  return {
    all,
    names: [...byName.keys()],
    shortest: all.reduce(
      (least, plan) => (isShorter(plan.keeps, least.keeps) ? plan : least),
      first,
    ),
    named: (name) => byName.get(name) ?? null,
    ofClass: (number) => byClass.get(number) ?? null,
  };
}

/** The plans of a service whose CATALOGUE_FILE names none. */
export const defaultPlans: Plans = createPlans(definitions);

const dayMs = 86_400_000;

/** Whether `one` keeps less than `other`. */
export function isShorter(one: Keeps, other: Keeps): boolean {
  return lengthDays(one) < lengthDays(other);
}

/** For comparing alone. */
export function lengthDays(keeps: Keeps): number {
  return 'days' in keeps ? keeps.days : keeps.years * 365.25;
}

/**
 * The oldest moment (ms since 1970) that is still shown at `nowMs`: an event with
 * `timestamp >= retentionCutoff(keeps, now)` is kept, an older one has left every answer.
 * Calendar arithmetic in UTC: some days, or the same date and time some years ago.
 * On a February 29 without its like in the target year the cutoff rests at the start of March 1
 * there. So no event leaves before its full years are over, and none that left comes back the next
 * day, as the time-of-day on February 28 (or on March 1) would have it.
 */
export function retentionCutoff(keeps: Keeps, nowMs: number): number {
  if ('days' in keeps) return nowMs - keeps.days * dayMs;
  const now = new Date(nowMs);
  const year = now.getUTCFullYear() - keeps.years;
  const sameDate = Date.UTC(year, now.getUTCMonth(), now.getUTCDate());
  const dateExists = new Date(sameDate).getUTCDate() === now.getUTCDate();
  return dateExists ? sameDate + (nowMs - startOfUtcDay(nowMs)) : sameDate;
}

function startOfUtcDay(ms: number): number {
  return Math.floor(ms / dayMs) * dayMs;
}
