import { isDeepStrictEqual } from 'node:util';
import {
  type FieldProblem,
  heldClass,
  isShorter,
  type Locale,
  type Plan,
  type PlanDefinition,
  type Plans,
} from '@indelible/protocol';
import { invalid } from '../http/problem.ts';

export const digests = ['none', 'weekly', 'monthly'] as const;
type Digest = (typeof digests)[number];

/** The settings of a tenant; its log shows them before and after a change. */
export type TenantSettings = {
  name: string;
  plan: Plan;
  locale: Locale;
  timeZone: string;
  notifyEmails: string[];
  /** How often a digest is mailed to `notifyEmails`. */
  digest: Digest;
  restoreUrl: string | null;
  legalHold: boolean;
};

const defaults = {
  locale: 'en',
  timeZone: 'UTC',
  notifyEmails: [],
  digest: 'none',
  restoreUrl: null,
  legalHold: false,
} as const satisfies Partial<TenantSettings>;

/**
 * The settings after a change; omitted fields keep their value, or for a new tenant (`before` null)
 * get the default. Throws `validation_failed` if a new one lacks name or plan.
 */
export function changedSettings(
  before: TenantSettings | null,
  change: Partial<TenantSettings>,
): TenantSettings {
  if (before !== null) return { ...before, ...change };
  const { name, plan } = change;
  if (name !== undefined && plan !== undefined) {
    return { ...defaults, notifyEmails: [], ...change, name, plan };
  }
  const missing = (['name', 'plan'] as const).filter((field) => change[field] === undefined);
  const errors = missing.map((field): FieldProblem => {
    return { path: `/${field}`, code: 'required', message: 'is required for a new tenant' };
  });
  throw invalid(errors, 'a new tenant needs a name and a plan');
}

/** Only the settings. */
export function settingsOf(from: TenantSettings): TenantSettings {
  const { name, plan, locale, timeZone, notifyEmails, digest, restoreUrl, legalHold } = from;
  return { name, plan, locale, timeZone, notifyEmails, digest, restoreUrl, legalHold };
}

export function sameSettings(one: TenantSettings, other: TenantSettings): boolean {
  return isDeepStrictEqual(settingsOf(one), settingsOf(other));
}

/** Whether a change reduces the protection of events: it needs a declared reason. */
export function weakensRetention(
  plans: Plans,
  before: TenantSettings,
  after: TenantSettings,
): boolean {
  return (before.legalHold && !after.legalHold) || hasShorterPlan(plans, before, after);
}

/** How long `change_terms` keeps events that a smaller plan or a lifted hold has hidden. */
const graceDays = 30;

const dayMs = 86_400_000;

/** The end of the grace for a change now. */
export function graceEnd(nowMs: number): number {
  return nowMs + graceDays * dayMs;
}

/** Whether the notified addresses differ. False if there were none before. */
export function hasOtherEmails(
  before: Pick<TenantSettings, 'notifyEmails'>,
  after: Pick<TenantSettings, 'notifyEmails'>,
): boolean {
  const isSame = isDeepStrictEqual(before.notifyEmails, after.notifyEmails);
  return !isSame && before.notifyEmails.length > 0;
}

/** Whether the new plan keeps less than the former one. */
export function hasShorterPlan(
  plans: Plans,
  before: Pick<TenantSettings, 'plan'>,
  after: Pick<TenantSettings, 'plan'>,
): boolean {
  return isShorter(planOf(plans, after).keeps, planOf(plans, before).keeps);
}

/** The class of new events: the plan's, or that of legal holds. */
export function retentionClassOf(plans: Plans, tenant: TenantSettings): number {
  return tenant.legalHold ? heldClass : planOf(plans, tenant).class;
}

/** The service has started with every plan that a tenant has. */
export function planOf(plans: Plans, { plan }: Pick<TenantSettings, 'plan'>): PlanDefinition {
  const found = plans.named(plan);
  if (found === null) throw new Error(`no plan is called ${plan}`);
  return found;
}
