/** The plans of tenants, and how long each shows events. */

/** The retention of events: days or calendar years. */
export type Keeps = { days: number } | { years: number };

export interface PlanDefinition {
  name: string;
  /** The retention class of its tenants' events. Permanent: a number is never reused. */
  class: number;
  keeps: Keeps;
  /** Whether the logs of its tenants are archived. */
  archive?: boolean;
}

/** The class of tenants under legal hold. No plan can use it. */
export const heldClass = 3;

/** The class of late events, under any plan: retention counts each from its own receipt. */
export const lateClass = 1_000;

const definitions = [
  { name: 'Starter', class: 0, keeps: { days: 30 } },
  { name: 'Pro', class: 1, keeps: { years: 1 } },
  { name: 'Enterprise', class: 2, keeps: { years: 7 }, archive: true },
] as const satisfies PlanDefinition[];

/** A plan's name: of a default plan, or of the service's CATALOGUE_FILE. */
export type Plan = (typeof definitions)[number]['name'] | (string & Record<never, never>);

export type Plans = ReturnType<typeof createPlans>;

/** RangeError with an error text for the operator: repeated names, or classes used twice. */
export function createPlans(all: readonly PlanDefinition[]) {
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
        `the plan ${name} cannot have the class ${number}, which is for legal holds: choose another`,
      );
    }
  }
  return {
    /** In the given order. */
    all,
    names: [...byName.keys()],
    /** The plan with the shortest retention. */
    shortest: all.reduce(
      (least, plan) => (isShorter(plan.keeps, least.keeps) ? plan : least),
      first,
    ),
    named: (name: string) => byName.get(name) ?? null,
    /** Null for the class of legal holds and for an unknown class. */
    ofClass: (retentionClass: number) => byClass.get(retentionClass) ?? null,
  };
}

export const defaultPlans: Plans = createPlans(definitions);

const dayMs = 86_400_000;

/** The receipt of an event that is not late is at most this long after its timestamp. */
export const lateAfterMs = dayMs;

export function isLate(timeMs: number, receivedMs: number): boolean {
  return receivedMs - timeMs > lateAfterMs;
}

/** Whether `one` is shorter than `other`. */
export function isShorter(one: Keeps, other: Keeps): boolean {
  return lengthDays(one) < lengthDays(other);
}

/** For comparison only. */
export function lengthDays(keeps: Keeps): number {
  return 'days' in keeps ? keeps.days : keeps.years * 365.25;
}

/**
 * The oldest time (ms since 1970) that is shown at `nowMs`: an event with `timestamp >=
 * retentionCutoff(keeps, now)` is shown, an older one is not. Computed in UTC: some days earlier,
 * or the same date and time some years earlier.
 * From February 29, if the target year has none, the cutoff is the start of March 1. So no event is
 * hidden before its full years are over, and no hidden event reappears the next day.
 */
export function retentionCutoff(keeps: Keeps, nowMs: number): number {
  if ('days' in keeps) return nowMs - keeps.days * dayMs;
  const now = new Date(nowMs);
  const year = now.getUTCFullYear() - keeps.years;
  const sameDate = Date.UTC(year, now.getUTCMonth(), now.getUTCDate());
  const dateExists = new Date(sameDate).getUTCDate() === now.getUTCDate();
  return dateExists ? sameDate + (nowMs % dayMs) : sameDate;
}
