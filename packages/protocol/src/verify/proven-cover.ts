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

/** Clocks differ, and time goes on while a log is read. */
export const clockSlackMs = 5 * 60_000;

export interface CoverClaims {
  /** Those of the service; the default ones unless given. */
  plans?: Plans | undefined;
  /** Of the intact bodies of the log. */
  records: ServiceRecords;
  /** `lastAbsentOwn` of the body pass: records before it may be out of date. */
  lastAbsentOwn: number;
  /** The moment the bodies are of. */
  nowMs: number;
  /** The cutoff that is stated with the bodies; older ones were not shown. */
  statedCutoffMs: number | null;
  /** The plan that is stated with the bodies. */
  statedPlan: Plan | null;
  /** The plan that whoever verifies knows the tenant to have. */
  knownPlan: Plan | null;
}

/**
 * Which bodies may be absent, and which plan that rests
 * on: the log's own record, or the caller's word.
 */
export interface ProvenCover {
  cover: BodyCover;
  plan: { name: Plan; from: 'log' | 'caller' } | null;
}

/**
 * Which absent bodies retention explains, as far as the log itself proves it: by the removals and
 * plans that the service has recorded in it. A cutoff that is merely stated explains nothing:
 * within what the shortest plan would hide the absence is `stated`, beyond that it is damage.
 * Contradictions between the log and what is stated are findings.
 */
export function provenCover(claims: CoverClaims, findings: Findings): ProvenCover {
  const { records, nowMs, statedCutoffMs, knownPlan, plans = defaultPlans } = claims;
  const add = adder(findings);
  const terms = termsInForce(claims, plans);
  if (terms !== null) comparePlans(claims, terms.plan, add);
  const inForce = plans.named(terms?.plan ?? knownPlan ?? '');
  // Under a hold the service shows everything that is left.
  const owedMs = !inForce || terms?.legalHold ? null : retentionCutoff(inForce.keeps, nowMs);
  const explained = [...removalsOf(records, plans, add), ...formerPlans(records, plans)];
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
  return (code, message, sequence) =>
    findings.add({ code, message, sequence: sequence ?? null, eventId: null });
}

/** By the last record of the tenant, unless something that may have been a later one is absent. */
function termsInForce({ records, lastAbsentOwn }: CoverClaims, plans: Plans): PlanTerms | null {
  const last = newest(records.terms);
  const terms = last !== null && last.sequence > lastAbsentOwn ? last.after : null;
  return terms && plans.named(terms.plan) ? terms : null;
}

/** Once the tenant's own records have expired, removals go on telling under which plan. */
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

/** Removals that the plan of their time allowed; one that went further excuses nothing. */
function removalsOf({ removals }: ServiceRecords, plans: Plans, add: Add): RetentionRecord[] {
  return removals.filter(({ sequence, timeMs, cutoffMs, plan, isLeaving }) => {
    if (isLeaving) return true;
    const owedMs = retentionCutoff((plans.named(plan ?? '') ?? plans.shortest).keeps, timeMs);
    if (cutoffMs <= owedMs + clockSlackMs) return true;
    const message =
      `The log records that events from before ${formatTimestamp(cutoffMs)} were removed, but the ` +
      `plan then kept everything from ${formatTimestamp(owedMs)} on.`;
    add('retention_exceeded', message, sequence);
    return false;
  });
}

/** What a plan or the lack of a hold had hidden before it ended may have gone under it. */
function formerPlans({ terms }: ServiceRecords, plans: Plans): RetentionRecord[] {
  return terms.flatMap(({ sequence, timeMs, before }) => {
    const plan = before === null || before.legalHold ? null : plans.named(before.plan);
    return plan ? [{ cutoffMs: retentionCutoff(plan.keeps, timeMs), size: sequence }] : [];
  });
}

function earlier(one: number | null, other: number | null): number | null {
  return one === null || other === null ? null : Math.min(one, other);
}
