import { heldClass, type Keeps, retentionCutoff } from '@indelible/protocol';
import type { PartitionUnit, StoredPlan } from '../tenants/index.ts';

/**
 * What decides how long a tenant's events are owed. Moments in ms since 1970.
 */
export interface RetentionTerms {
  keeps: Keeps;
  legalHold: boolean;
  /**
   * Until when they are kept as under a plan the tenant has left, or (`keeps` null) under a hold
   * that was lifted.
   */
  grace: readonly { keeps: Keeps | null; untilMs: number }[];
}

/**
 * The moment before which a tenant's events may be removed at `atMs`: what its plan hides, and
 * no plan it left within the grace would show. Null while everything is kept.
 */
export function removalCutoff(terms: RetentionTerms, atMs: number): number | null {
  const granted = terms.grace.filter(({ untilMs }) => atMs < untilMs).map(({ keeps }) => keeps);
  if (terms.legalHold || granted.includes(null)) return null;
  const owed = [terms.keeps, ...granted.filter((keeps) => keeps !== null)];
  return Math.min(...owed.map((keeps) => retentionCutoff(keeps, atMs)));
}

/** A table of the events of one class whose times lie in `[fromMs, toMs)`. */
export interface Partition {
  name: string;
  retentionClass: number;
  fromMs: number;
  toMs: number;
}

/** The partition of this name, which make_partition gave it; null for any other table. */
export function partitionOf(name: string): Partition | null {
  const match = /^audit_events_(\d{1,5})_(\d{4})(\d{2})(\d{2})?$/.exec(name);
  if (!match) return null;
  const [year, month, day] = [Number(match[2]), Number(match[3]) - 1, Number(match[4] ?? 1)];
  const fromMs = Date.UTC(year, month, day);
  const toMs = endOfPartition(match[4] === undefined ? 'month' : 'day', fromMs);
  return { name, retentionClass: Number(match[1]), fromMs, toMs };
}

/** Where the partition ends in which this moment lies, in UTC. */
export function endOfPartition(unit: PartitionUnit, timeMs: number): number {
  const date = new Date(timeMs);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return unit === 'day' ? Date.UTC(year, month, date.getUTCDate() + 1) : Date.UTC(year, month + 1);
}

/** What partitions of a class hold; those of legal holds hold months. */
export function unitOf(plans: readonly StoredPlan[], retentionClass: number): PartitionUnit {
  return plans.find((plan) => plan.class === retentionClass)?.unit ?? 'month';
}

/**
 * Whether a partition is old enough to be looked into at `atMs`: everything in it has expired under
 * the plan of its class. Held rows have no age; what a hold has left behind goes as soon as it may.
 */
export function isDue(
  { retentionClass, toMs }: Partition,
  plans: readonly StoredPlan[],
  atMs: number,
): boolean {
  const own = plans.filter((plan) => plan.class === retentionClass);
  const candidates = retentionClass === heldClass ? plans : own;
  return candidates.some(({ keeps }) => toMs <= retentionCutoff(keeps, atMs));
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
