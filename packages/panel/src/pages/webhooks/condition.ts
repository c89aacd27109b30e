import type { Webhook } from '@indelible/client';

/**
 * How an endpoint is doing: it has everything (`current`), is still getting
 * there (`behind`), waits for its next attempt (`failing`), was given up
 * (`stopped`), wants no more (`gone`), or somebody paused it (`paused`).
 */
export type Condition = 'current' | 'behind' | 'failing' | 'stopped' | 'gone' | 'paused';

const attemptsMax = 8;

export function conditionOf(webhook: Webhook): Condition {
  const { status, pausedBecause, attempt, behind } = webhook;
  if (status === 'paused') {
    if (pausedBecause !== 'failing') return 'paused';
    // Only a receiver that wants no more ends it before
    // the last attempt. The last delivery may be a test.
    return attempt > 0 && attempt < attemptsMax ? 'gone' : 'stopped';
  }
  if (attempt > 0) return 'failing';
  return behind > 0 ? 'behind' : 'current';
}

const soonMs = 2_000;
const nearMs = 60_000;

/**
 * How long until it is worth asking again, in ms; null where nothing happens within the next
 * minute: something is under way while messages are being sent, and when the next attempt is near.
 */
export function nextLookMs(webhook: Webhook, nowMs: number): number | null {
  const condition = conditionOf(webhook);
  if (condition === 'behind') return soonMs;
  if (condition !== 'failing') return null;
  const dueMs = Date.parse(webhook.nextAttemptAt ?? '') - nowMs;
  return dueMs < nearMs ? Math.max(soonMs, dueMs + 1_000) : null;
}
