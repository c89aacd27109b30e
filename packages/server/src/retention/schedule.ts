import { type Plan, plans, retentionCutoff } from '@indelible/protocol';

/**
 * What decides how long a tenant's events are owed. Moments in ms since 1970; null = never granted.
 */
export interface RetentionTerms {
  plan: Plan;
  legalHold: boolean;
  /**
   * Until when they are kept as under a plan the tenant has left, or under a hold that was lifted.
   */
  proUntilMs: number | null;
  enterpriseUntilMs: number | null;
  heldUntilMs: number | null;
}

/**
 * The moment before which a tenant's events may be removed at `atMs`: what its plan hides, and
 * neither a plan it left within the grace would show. Null while everything is kept.
 */
export function removalCutoff(terms: RetentionTerms, atMs: number): number | null {
  const { plan, legalHold, proUntilMs, enterpriseUntilMs, heldUntilMs } = terms;
  const isGranted = (untilMs: number | null) => untilMs !== null && atMs < untilMs;
  if (legalHold || isGranted(heldUntilMs)) return null;
  const owed: Plan[] = [plan];
  if (isGranted(proUntilMs)) owed.push('Pro');
  if (isGranted(enterpriseUntilMs)) owed.push('Enterprise');
  return Math.min(...owed.map((each) => retentionCutoff(each, atMs)));
}

/** The class of a tenant under legal hold; those below are the plans, in their order. */
export const heldClass = 3;

const classNames = ['starter', 'pro', 'enterprise', 'held'];

/** A table of the events of one class whose times lie in `[fromMs, toMs)`. */
export interface Partition {
  name: string;
  retentionClass: number;
  fromMs: number;
  toMs: number;
}

/** The partition of this name, which make_partition gave it; null for any other table. */
export function partitionOf(name: string): Partition | null {
  const match = /^audit_events_([a-z]+)_(\d{4})(\d{2})(\d{2})?$/.exec(name);
  const retentionClass = classNames.indexOf(match?.[1] ?? '');
  if (!match || retentionClass < 0 || (retentionClass === 0) !== (match[4] !== undefined))
    return null;
  const [year, month] = [Number(match[2]), Number(match[3]) - 1];
  const day = Number(match[4] ?? 1);
  const fromMs = Date.UTC(year, month, day);
  return { name, retentionClass, fromMs, toMs: endOfPartition(retentionClass, fromMs) };
}

/** Where the partition ends in which this moment lies: days for starter, else months, in UTC. */
export function endOfPartition(retentionClass: number, timeMs: number): number {
  const date = new Date(timeMs);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  if (retentionClass === 0) return Date.UTC(year, month, date.getUTCDate() + 1);
  return Date.UTC(year, month + 1);
}

/**
 * Whether a partition is old enough to be looked into at `atMs`: everything in it has expired under
 * the plan of its class. Held rows have no age; what a hold has left behind goes as soon as it may.
 */
export function isDue({ retentionClass, toMs }: Partition, atMs: number): boolean {
  return toMs <= retentionCutoff(plans[retentionClass] ?? 'Starter', atMs);
}

/** What the job knows of time: when it last looked at its clock, and which look it goes by. */
export interface SeenTime {
  seenMs: number;
  believedMs: number | null;
}

const confirmHours = 20;

/**
 * Which moment a run may go by whose clock says `nowMs`: the one an earlier run saw, most of a day
 * before. A clock that was ahead for some hours removes nothing: once it is back, what it had shown
 * lies in the future, and is forgotten. Costs at most two days.
 */
export function lookAtClock({ seenMs, believedMs }: SeenTime, nowMs: number): SeenTime {
  if (nowMs < seenMs) {
    return { seenMs: nowMs, believedMs: believedMs === null ? null : Math.min(believedMs, nowMs) };
  }
  if (nowMs - seenMs < confirmHours * 3_600_000) return { seenMs, believedMs };
  return { seenMs: nowMs, believedMs: seenMs };
}
