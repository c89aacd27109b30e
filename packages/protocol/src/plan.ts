/** The plans a tenant can have, and how far back each lets its events be seen. */

export const plans = ['Starter', 'Pro', 'Enterprise'] as const;
export type Plan = (typeof plans)[number];

const starterDays = 30;
const retentionYears = { Pro: 1, Enterprise: 7 } as const;
const dayMs = 86_400_000;

/** Whether `text` is the exact name of a plan. */
export function isPlan(text: string): text is Plan {
  return (plans as readonly string[]).includes(text);
}

/**
 * The oldest moment (ms since 1970) that `plan` still shows at `nowMs`: an event with
 * `timestamp >= retentionCutoff(plan, now)` is kept, an older one has left every answer.
 * Calendar arithmetic in UTC: 30 days, or the same date and time one or seven years ago.
 * On a February 29 without its like in the target year the cutoff rests at the start of March 1
 * there. So no event leaves before its full years are over, and none that left comes back the next
 * day, as the time-of-day on February 28 (or on March 1) would have it.
 */
export function retentionCutoff(plan: Plan, nowMs: number): number {
  if (plan === 'Starter') return nowMs - starterDays * dayMs;
  const now = new Date(nowMs);
  const year = now.getUTCFullYear() - retentionYears[plan];
  const sameDate = Date.UTC(year, now.getUTCMonth(), now.getUTCDate());
  const dateExists = new Date(sameDate).getUTCDate() === now.getUTCDate();
  return dateExists ? sameDate + (nowMs - startOfUtcDay(nowMs)) : sameDate;
}

function startOfUtcDay(ms: number): number {
  return Math.floor(ms / dayMs) * dayMs;
}
