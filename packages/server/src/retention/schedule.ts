import {
  heldClass,
  type Keeps,
  lateAfterMs,
  lateClass,
  retentionCutoff,
} from '@indelible/protocol';
import type { PartitionUnit, StoredPlan } from '../tenants/plan-changes.ts';

/** What decides how long a tenant's events are kept. Times in ms since 1970. */
export interface RetentionTerms {
  keeps: Keeps;
  legalHold: boolean;
  /** Until when events are kept as under a former plan, or (`keeps` null) under a lifted hold. */
  grace: readonly { keeps: Keeps | null; untilMs: number }[];
}

/**
 * The time before which a tenant's events may be removed at `atMs`: hidden by its plan, and by
 * every plan within grace. Null while everything is kept.
 */
export function removalCutoff(terms: RetentionTerms, atMs: number): number | null {
  const granted = terms.grace.filter(({ untilMs }) => atMs < untilMs).map(({ keeps }) => keeps);
  if (terms.legalHold || granted.includes(null)) return null;
  const owed = [terms.keeps, ...granted.filter((keeps) => keeps !== null)];
  return Math.min(...owed.map((keeps) => retentionCutoff(keeps, atMs)));
}

/** A table of the events of one class with times in `[fromMs, toMs)`. */
export interface Partition {
  name: string;
  retentionClass: number;
  fromMs: number;
  toMs: number;
  /** Its events were all received before this time; infinite for late ones. */
  receivedMs: number;
}

/** The partition with this name from make_partition; null for any other table. */
export function partitionOf(name: string): Partition | null {
  const match = /^audit_events_(\d{1,5})_(\d{4})(\d{2})?(\d{2})?$/.exec(name);
  if (!match) return null;
  const [year, month, day] = [Number(match[2]), Number(match[3] ?? 1) - 1, Number(match[4] ?? 1)];
  const fromMs = Date.UTC(year, month, day);
  const unit = match[4] !== undefined ? 'day' : match[3] !== undefined ? 'month' : 'year';
  const toMs = endOfPartition(unit, fromMs);
  const retentionClass = Number(match[1]);
  const receivedMs = retentionClass === lateClass ? Infinity : toMs + lateAfterMs;
  return { name, retentionClass, fromMs, toMs, receivedMs };
}

/** The end of the partition of this time, in UTC. */
export function endOfPartition(unit: PartitionUnit | 'year', timeMs: number): number {
  const date = new Date(timeMs);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  if (unit === 'year') return Date.UTC(year + 1, 0);
  return unit === 'day' ? Date.UTC(year, month, date.getUTCDate() + 1) : Date.UTC(year, month + 1);
}

/** The unit of a class's partitions; months for legal holds, whose oldest ones hold years. */
export function unitOf(plans: readonly StoredPlan[], retentionClass: number): PartitionUnit {
  return plans.find((plan) => plan.class === retentionClass)?.unit ?? 'month';
}

/**
 * Whether a partition is old enough to check at `atMs`: everything in it has expired under its
 * class's plan. Held rows have no age; after a lifted hold they are removed as soon as allowed.
 * Late events are removed one by one: a partition of the past may be empty.
 */
export function isDue(
  { retentionClass, toMs, receivedMs }: Partition,
  plans: readonly StoredPlan[],
  atMs: number,
): boolean {
  if (retentionClass === lateClass) return toMs <= atMs;
  const own = plans.filter((plan) => plan.class === retentionClass);
  const candidates = retentionClass === heldClass ? plans : own;
  return candidates.some(({ keeps }) => receivedMs <= retentionCutoff(keeps, atMs));
}

/** The job's knowledge of time: when it last read its clock, and the time that it uses. */
export interface SeenTime {
  seenMs: number;
  believedMs: number | null;
}

const confirmHours = 20;

/**
 * The time for a run whose clock says `nowMs`: the one that an earlier run saw, most of a day
 * before. So a clock that is ahead for some hours removes nothing: after its correction, the time
 * that it showed is in the future and ignored. Delays removals by at most two days.
 */
export function lookAtClock({ seenMs, believedMs }: SeenTime, nowMs: number): SeenTime {
  if (nowMs < seenMs) {
    return { seenMs: nowMs, believedMs: believedMs === null ? null : Math.min(believedMs, nowMs) };
  }
  if (nowMs - seenMs < confirmHours * 3_600_000) return { seenMs, believedMs };
  return { seenMs: nowMs, believedMs: seenMs };
}
