import { formatTimestamp } from '../event/timestamp.ts';
import {
  defaultPlans,
  type Plan,
  type PlanDefinition,
  type Plans,
  retentionCutoff,
} from '../plan.ts';
import type { FindingCode, Findings } from './findings.ts';
import { type BodyCover, createBodyCover, type RetentionRecord } from './retention-cover.ts';
import type { PlanTerms, ServiceRecords } from './service-records.ts';

/** Tolerance for different clocks, and for the time that reading a log takes. */
export const clockSlackMs = 5 * 60_000;

export interface CoverClaims {
  /** The plans of the service; the default plans if absent. */
  plans?: Plans | undefined;
  /** From the intact bodies of the log. */
  records: ServiceRecords;
  /** `lastAbsentOwn` of the body pass: records before it may be outdated. */
  lastAbsentOwn: number;
  /** The last produced event in the body pass: a tenant that has left records nothing. */
  lastProduced: number;
  /** The time at which the bodies were read. */
  nowMs: number;
  /** The cutoff stated with the bodies; older bodies were not shown. */
  statedCutoffMs: number | null;
  /** The plan stated with the bodies. */
  statedPlan: Plan | null;
  /** The plan that the verifier's user has named. */
  knownPlan: Plan | null;
}

/** The bodies that may be absent, and the source of the plan: the log's own record, or the user. */
export interface ProvenCover {
  cover: BodyCover;
  plan: { name: Plan; from: 'log' | 'caller' } | null;
}

/**
 * Decides which absent bodies retention explains, by the removals and plans that the log itself
 * records. A stated cutoff proves nothing: within the retention of the shortest plan an absence is
 * `stated`, beyond it is damage. Contradictions between the log and the stated values are findings.
 */
export function provenCover(claims: CoverClaims, findings: Findings): ProvenCover {
  const { records, nowMs, statedCutoffMs, knownPlan, plans = defaultPlans } = claims;
  const add = adder(findings);
  const terms = termsInForce(claims, plans);
  if (terms !== null) comparePlans(claims, terms.plan, add);
  const inForce = plans.named(terms?.plan ?? knownPlan ?? '');
  // Under a hold the service shows every remaining event.
  const owedMs = !inForce || terms?.legalHold ? null : retentionCutoff(inForce.keeps, nowMs);
  const explained = [...removalsOf(claims, plans, add), ...formerPlans(records, plans)];
  const planCutoffMs = earlier(owedMs === null ? null : owedMs + clockSlackMs, statedCutoffMs);
  if (inForce) {
    const { name } = inForce;
    if (owedMs !== null) compareCutoff(statedCutoffMs, owedMs, name, add);
    const plan = { name, from: terms === null ? 'caller' : 'log' } as const;
    return { cover: createBodyCover({ records: explained, planCutoffMs }), plan };
  }
  const { shortest } = plans;
  const shortestMs = retentionCutoff(shortest.keeps, nowMs);
  compareCutoff(statedCutoffMs, shortestMs, shortest.name, add);
  const removing = planOfRemovals(claims, plans);
  const removedMs = removing && retentionCutoff(removing.keeps, nowMs) + clockSlackMs;
  const cover = createBodyCover({
    records: explained,
    planCutoffMs: earlier(removedMs, statedCutoffMs),
    statedCutoffMs: earlier(shortestMs + clockSlackMs, statedCutoffMs),
  });
  return { cover, plan: removing && { name: removing.name, from: 'log' } };
}

type Add = (code: FindingCode, message: string, sequence?: number) => void;

function adder(findings: Findings): Add {
  return (code, message, sequence) => findings.add(code, message, { sequence: sequence ?? null });
}

/** From the last record of the tenant, unless a missing event may have been a later record. */
function termsInForce({ records, lastAbsentOwn }: CoverClaims, plans: Plans): PlanTerms | null {
  const last = newest(records.terms);
  const terms = last !== null && last.sequence > lastAbsentOwn ? last.after : null;
  return terms && plans.named(terms.plan) ? terms : null;
}

/** After the tenant's own records have expired, removal records still name the plan. */
function planOfRemovals(
  { records, lastAbsentOwn }: CoverClaims,
  plans: Plans,
): PlanDefinition | null {
  const last = newest(records.removals);
  return last !== null && last.sequence > lastAbsentOwn ? plans.named(last.plan ?? '') : null;
}

function newest<T extends { sequence: number }>(records: readonly T[]): T | null {
  return records.reduce<T | null>(
    (last, each) => (last === null || each.sequence > last.sequence ? each : last),
    null,
  );
}

function comparePlans({ statedPlan, knownPlan }: CoverClaims, plan: Plan, add: Add): void {
  if (statedPlan !== null && statedPlan !== plan) {
    add('plan_mismatch', `The plan is stated to be ${statedPlan}; the log records ${plan}.`);
  }
  if (knownPlan !== null && knownPlan !== plan) {
    add('plan_mismatch', `You named the plan ${knownPlan}; the log records ${plan}.`);
  }
}

function compareCutoff(statedMs: number | null, owedMs: number, plan: Plan, add: Add): void {
  if (statedMs === null || statedMs <= owedMs + clockSlackMs) return;
  const message =
    `Events from before ${formatTimestamp(statedMs)} are stated to have expired, but the ` +
    `plan ${plan} keeps everything from ${formatTimestamp(owedMs)} on.`;
  add('retention_exceeded', message);
}

/** Removals that the plan of their time allowed; a larger one explains nothing. */
function removalsOf(
  { records: { removals, terms }, lastProduced }: CoverClaims,
  plans: Plans,
  add: Add,
): RetentionRecord[] {
  return removals.filter(({ sequence, timeMs, cutoffMs, plan, isOffboarding }) => {
    if (isOffboarding && lastProduced < sequence) return true;
    if (isOffboarding) {
      const message =
        'The log records that the tenant has left and its events were removed, but events were ' +
        `recorded after that, up to sequence ${lastProduced}.`;
      add('retention_exceeded', message, sequence);
      return false;
    }
    // The record's own word for the plan does not count against that of the log before it.
    const then = newest(terms.filter((each) => each.sequence < sequence))?.after;
    const known = plans.named(then?.plan ?? '') ?? plans.named(plan ?? '') ?? plans.shortest;
    const owedMs = retentionCutoff(known.keeps, timeMs);
    if (!then?.legalHold && cutoffMs <= owedMs + clockSlackMs) return true;
    const message =
      `The log records that events from before ${formatTimestamp(cutoffMs)} were removed, but ` +
      (then?.legalHold
        ? 'a legal hold then kept everything.'
        : `the plan then kept everything from ${formatTimestamp(owedMs)} on.`);
    add('retention_exceeded', message, sequence);
    return false;
  });
}

/** Bodies hidden by a former plan, or before a hold, may have been removed under it. */
function formerPlans({ terms }: ServiceRecords, plans: Plans): RetentionRecord[] {
  return terms.flatMap(({ sequence, timeMs, before }) => {
    const plan = before === null || before.legalHold ? null : plans.named(before.plan);
    return plan ? [{ cutoffMs: retentionCutoff(plan.keeps, timeMs), size: sequence }] : [];
  });
}

function earlier(one: number | null, other: number | null): number | null {
  return one === null || other === null ? null : Math.min(one, other);
}
