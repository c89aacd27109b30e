import type { Webhook } from '@indelible/client';
import { retryPausesMs } from '@indelible/protocol';

/**
 * `current`: everything is delivered. `behind`: the service is sending. `failing`: it waits for
 * the next attempt. `stopped`: all attempts failed. `gone`: the receiver answered 410.
 * `paused`: a person paused it.
 */
export type Condition = 'current' | 'behind' | 'failing' | 'stopped' | 'gone' | 'paused';

export function conditionOf(webhook: Webhook): Condition {
  const { status, pausedBecause, attempt, behind } = webhook;
  if (status === 'paused') {
    if (pausedBecause !== 'failing') return 'paused';
    // Only a 410 stops a webhook before its last attempt. The last delivery does not show it: it
    // may be a test.
    return attempt > 0 && attempt <= retryPausesMs.length ? 'gone' : 'stopped';
  }
  if (attempt > 0) return 'failing';
  return behind > 0 ? 'behind' : 'current';
}

const soonMs = 2_000;
const nearMs = 60_000;

/**
 * Milliseconds until the next reload; null unless messages are being sent or the next attempt is
 * within a minute.
 */
export function nextLookMs(webhook: Webhook, nowMs: number): number | null {
  const condition = conditionOf(webhook);
  if (condition === 'behind') return soonMs;
  if (condition !== 'failing') return null;
  const dueMs = Date.parse(webhook.nextAttemptAt ?? '') - nowMs;
  return dueMs < nearMs ? Math.max(soonMs, dueMs + 1_000) : null;
}
