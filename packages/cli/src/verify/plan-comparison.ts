import { type Findings, formatTimestamp, type Plan, retentionCutoff } from '@indelible/protocol';
import { addDamage } from './damage.ts';

// Clocks differ, and time goes on while pages are read.
const slackMs = 5 * 60_000;

/**
 * Holds a cutoff that was stated against what a plan keeps now: whoever could state any cutoff could
 * explain away any event. Nothing is said without a plan.
 */
export function compareWithPlan(
  plan: Plan | null,
  cutoffMs: number | null,
  findings: Findings,
): void {
  if (plan === null || cutoffMs === null) return;
  const owedMs = retentionCutoff(plan, Date.now());
  if (cutoffMs <= owedMs + slackMs) return;
  const message =
    `Events from before ${formatTimestamp(cutoffMs)} are said to be gone, but the plan ${plan} keeps ` +
    `everything from ${formatTimestamp(owedMs)} on.`;
  addDamage(findings, 'retention_exceeded', message);
}
