import { pauseAfter } from './retry-schedule.ts';
import { noMessage, type PendingMessage, type WebhookRow, type WebhookSettings } from './store.ts';

/* What an endpoint is after something happened to it. Pure: the caller holds its row locked. */

/**
 * The receiver took the message that was due. `sequence`
 * is that of an export that it told of, else null.
 */
export function delivered(
  row: WebhookRow,
  message: PendingMessage,
  sequence: number | null,
  nowMs: number,
): WebhookRow {
  const done = { ...row, ...noMessage, attempt: 0, dueAtMs: nowMs };
  if (sequence === null || !row.types.includes('audit.events.recorded')) {
    return { ...done, nextSequence: message.messageEnd };
  }
  // The event that says so is still to come itself, among others.
  return { ...done, nextSequence: sequence, announcedSequence: sequence };
}

/**
 * An attempt has failed: the same message is due again after a pause,
 * or the endpoint is paused, when it was the last attempt or the
 * receiver is gone for good (`isGone`). `chance` is from 0 up to 1.
 */
export function failedOnce(
  row: WebhookRow,
  isGone: boolean,
  nowMs: number,
  chance: number,
): WebhookRow {
  const attempt = row.attempt + 1;
  // Paused by somebody while the call was under way.
  if (row.status === 'paused') return { ...row, attempt };
  const pause = isGone ? null : pauseAfter(attempt, chance);
  if (pause !== null) return { ...row, attempt, dueAtMs: nowMs + pause };
  return { ...row, attempt, status: 'paused', pausedBecause: 'failing', updatedAtMs: nowMs };
}

/** Keeps the message that is due: it goes on with this one. */
export function pausedNow(row: WebhookRow, nowMs: number): WebhookRow {
  return { ...row, status: 'paused', pausedBecause: 'requested', updatedAtMs: nowMs };
}

/** Due at once, with all attempts before it. */
export function resumedNow(row: WebhookRow, nowMs: number): WebhookRow {
  const active = { status: 'active', pausedBecause: null } as const;
  return { ...row, ...active, attempt: 0, dueAtMs: nowMs, updatedAtMs: nowMs };
}

/** Back to an earlier place; never forward. */
export function replayedFrom(row: WebhookRow, sequence: number, nowMs: number): WebhookRow {
  if (sequence >= row.nextSequence) return row;
  const back = { nextSequence: sequence, announcedSequence: -1 };
  return { ...startedAnew(row, nowMs), ...back };
}

/**
 * With other settings. A message that would not be the same under them
 * begins anew, under another id; one that goes elsewhere keeps its id
 * and begins with its attempts. Another name changes nothing of either.
 */
export function changedTo(
  row: WebhookRow,
  settings: WebhookSettings,
  credential: Uint8Array | null,
  nowMs: number,
): WebhookRow {
  const changed = { ...row, ...settings, credential, updatedAtMs: nowMs };
  const same = (['format', 'filters'] as const).every((key) => row[key] === settings[key]);
  if (!same || row.types.join() !== settings.types.join()) return startedAnew(changed, nowMs);
  const sameCall = row.url === settings.url && row.options === settings.options;
  if (sameCall && row.credential === credential) return changed;
  // Whoever corrects an address does not want to wait for hours to see that it works.
  return { ...changed, revision: row.revision + 1, attempt: 0, dueAtMs: nowMs };
}

function startedAnew(row: WebhookRow, nowMs: number): WebhookRow {
  const revision = row.revision + 1;
  return { ...row, ...noMessage, revision, attempt: 0, dueAtMs: nowMs, updatedAtMs: nowMs };
}
