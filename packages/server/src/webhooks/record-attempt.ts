import type { Jobs } from '../background/jobs.ts';
import type { Who } from '../own-event.ts';
import type { Parts } from '../parts.ts';
import { type WriterTx, writeInBackground } from '../postgres/db.ts';
import type { Attempted } from './attempt.ts';
import { type DeliveryRow, insertDelivery } from './deliveries.store.ts';
import { lockWebhook, type PendingMessage, saveWebhook, type WebhookRow } from './store.ts';
import { byService, pausedEvent, sentEvent } from './webhook-event.ts';
import { delivered, failedOnce } from './webhook-state.ts';

export interface RecordDeps extends Pick<Parts, 'db' | 'now' | 'recordOwn' | 'newUuid' | 'jobs'> {
  /** From 0 up to 1, for the jitter. */
  chance: () => number;
}

/** The sent message, or (`message` null) a test. */
export interface Sent {
  webhook: WebhookRow;
  message: PendingMessage | null;
  messageId: string;
  type: string;
  firstSequence: number | null;
  lastSequence: number | null;
  events: number;
}

/**
 * Stores the result of an attempt: the webhook's position, the delivery and its record in the
 * tenant's log, or nothing. The position does not move for a message that is no longer due
 * (replayed, or delivered by another process after a lost lease), or for the answer of an address
 * that was changed meanwhile. A removed webhook gets only the record.
 */
export async function recordAttempt(
  deps: RecordDeps,
  sent: Sent,
  result: Attempted,
  who: Who = byService,
): Promise<DeliveryRow> {
  const { db, jobs } = deps;
  const { row, wasPaused } = await writeInBackground(db, async (tx) => {
    const current = await lockWebhook(tx, sent.webhook);
    const isDue = current !== null && isStillDue(current, sent);
    const after = isDue ? settled(deps, current, sent, result) : current;
    const row = deliveryOf(deps, isDue ? current : sent.webhook, after, sent, result, isDue);
    const wasPaused = isDue && after?.status === 'paused' && current.status === 'active';
    if (wasPaused) await sendMailJob(tx, jobs, sent.webhook);
    // Sent together and executed in this order: the log's head is locked last.
    await Promise.all([
      after && isDue && saveWebhook(tx, after),
      current && insertDelivery(tx, row),
      recordInLog(tx, deps, current ?? sent.webhook, row, who, wasPaused),
    ]);
    return { row, wasPaused };
  });
  if (wasPaused) jobs.wake();
  return row;
}

/** Whether this is the due message, and was sent to the current address. */
function isStillDue(current: WebhookRow, { message, messageId, webhook }: Sent): boolean {
  if (message === null || current.messageId !== messageId) return false;
  return current.revision === webhook.revision;
}

function settled(
  { chance, now }: RecordDeps,
  current: WebhookRow,
  { message, firstSequence }: Sent,
  result: Attempted,
): WebhookRow {
  if (!result.ok || message === null) return failedOnce(current, result, now(), chance());
  const isExport = message.messageType === 'audit.export.ready';
  return delivered(current, message, isExport ? firstSequence : null, now());
}

function deliveryOf(
  { newUuid }: RecordDeps,
  before: WebhookRow,
  after: WebhookRow | null,
  { messageId, type, firstSequence, lastSequence, events, message }: Sent,
  { ok, atMs, durationMs, responseStatus, response, reason }: Attempted,
  isDue: boolean,
): DeliveryRow {
  const isDueAgain = isDue && !ok && after?.status === 'active';
  return {
    ...{ tenantId: before.tenantId, webhookId: before.id, id: newUuid(atMs), messageId, type },
    status: ok ? 'delivered' : 'failed',
    attempt: message === null ? 1 : before.attempt + 1,
    ...{ firstSequence, lastSequence, events, atMs, durationMs },
    ...{ responseStatus, response, reason },
    nextAttemptAtMs: isDueAgain ? after.dueAtMs : null,
  };
}

function sendMailJob(tx: WriterTx, jobs: Jobs, { tenantId, id }: WebhookRow): Promise<void> {
  return jobs.send(tx, 'webhook-mail', { data: { tenantId, id }, tenantId });
}

/** Locks the head of the log. */
async function recordInLog(
  tx: WriterTx,
  { recordOwn }: RecordDeps,
  webhook: WebhookRow,
  delivery: DeliveryRow,
  who: Who,
  wasPaused: boolean,
): Promise<void> {
  await recordOwn(tx, webhook.tenantId, sentEvent(webhook, delivery, who));
  if (!wasPaused) return;
  const event = pausedEvent(webhook, byService, 'failing', failureOf(delivery));
  await recordOwn(tx, webhook.tenantId, event);
}

/** Never in the receiver's words: they may quote an event, and could not be erased here. */
function failureOf({ responseStatus: status, reason }: DeliveryRow): string | null {
  if (status === null) return reason;
  const refused = status >= 200 && status < 300 ? ', and did not take the message' : '';
  return `the receiver answered ${status}${refused}`;
}
