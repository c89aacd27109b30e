import { retryPausesMs } from '@indelible/protocol';
import type { Attempted } from './attempt.ts';
import { noMessage, type WebhookRow, type WebhookSettings } from './store.ts';

/* The new state of a webhook after an event. Pure: the caller has locked its row. */

const longestMs = Math.max(...retryPausesMs);

/**
 * The pause after this failed attempt (from 1), or null after the last. It is never shorter than
 * the receiver asks (`Retry-After`), but a receiver cannot ask for more than the longest pause.
 * `chance` from 0 up to 1 varies it by a tenth, so that webhooks that failed together are not
 * retried together.
 */
export function pauseAfter(attempt: number, retryAfterMs: number, chance: number): number | null {
  const pause = retryPausesMs[attempt - 1];
  if (pause === undefined) return null;
  const asked = Math.min(retryAfterMs, longestMs) * (1 + 0.1 * chance);
  return Math.round(Math.max(pause * (0.9 + 0.2 * chance), asked));
}

/**
 * The receiver accepted the due message; the log continues at `end`. `sequence` is that of an
 * announced export, else null.
 */
export function delivered(
  row: WebhookRow,
  end: number,
  sequence: number | null,
  nowMs: number,
): WebhookRow {
  const done = { ...row, ...noMessage, attempt: 0, dueAtMs: nowMs };
  if (sequence === null || !row.types.includes('audit.events.recorded')) {
    return { ...done, nextSequence: end };
  }
  // The event that reports it is still to be delivered.
  return { ...done, nextSequence: sequence, announcedSequence: sequence };
}

/**
 * An attempt has failed. The same message is due again after a pause. After the last attempt, or if
 * the receiver is gone permanently (`isGone`), the webhook is paused. `chance` is from 0 up to 1.
 */
export function failedOnce(
  row: WebhookRow,
  { isGone, retryAfterMs }: Pick<Attempted, 'isGone' | 'retryAfterMs'>,
  nowMs: number,
  chance: number,
): WebhookRow {
  const attempt = row.attempt + 1;
  // Paused by a person during the call.
  if (row.status === 'paused') return { ...row, attempt };
  const pause = isGone ? null : pauseAfter(attempt, retryAfterMs, chance);
  if (pause !== null) return { ...row, attempt, dueAtMs: nowMs + pause };
  return { ...row, attempt, status: 'paused', pausedBecause: 'failing', updatedAtMs: nowMs };
}

/**
 * With other settings. A message that would differ under the new settings begins again, with a new
 * id. A message to a new address keeps its id, and has all attempts again. A new name affects
 * neither.
 */
export function changedTo(
  row: WebhookRow,
  settings: WebhookSettings,
  sealed: Pick<WebhookRow, 'credential' | 'headers'>,
  nowMs: number,
): WebhookRow {
  const changed = { ...row, ...settings, ...sealed };
  const same = (['format', 'filters'] as const).every((key) => row[key] === settings[key]);
  if (!same || row.types.join() !== settings.types.join()) return startedAnew(changed, nowMs);
  const call = ['url', 'options', 'credential', 'headers'] as const;
  if (call.every((key) => row[key] === changed[key])) return changed;
  // After a correction of the address, the effect should be visible at once.
  return { ...changed, revision: row.revision + 1, attempt: 0, dueAtMs: nowMs };
}

/** Without the due message. */
export function startedAnew(row: WebhookRow, nowMs: number): WebhookRow {
  return { ...row, ...noMessage, revision: row.revision + 1, attempt: 0, dueAtMs: nowMs };
}
