import type { Who } from '../own-event.ts';
import { type WriterTx, writeInBackground } from '../postgres/db.ts';
import type { Attempted, Message, WebhookParts } from './attempt.ts';
import { type DeliveryRow, insertDelivery } from './deliveries.store.ts';
import { lockWebhook, saveWebhook, type WebhookRow } from './store.ts';
import { byService, pausedEvent, sentEvent } from './webhook-event.ts';
import { delivered, failedOnce } from './webhook-state.ts';

/**
 * Stores the result of an attempt: the webhook's position, the delivery and its record in the
 * tenant's log, or nothing. The position does not move for a message that is no longer due
 * (replayed, or delivered by another process after a lost lease), or for the answer of an address
 * that was changed meanwhile. A removed webhook gets only the record.
 */
export async function recordAttempt(
  parts: WebhookParts,
  webhook: WebhookRow,
  message: Message,
  result: Attempted,
  who: Who = byService,
): Promise<DeliveryRow> {
  const { db, jobs } = parts;
  const { tenantId, id } = webhook;
  const { row, wasPaused } = await writeInBackground(db, async (tx) => {
    const current = await lockWebhook(tx, webhook);
    const isDue = current !== null && isStillDue(current, webhook, message);
    const after = isDue ? settled(parts, current, message, result) : current;
    const row = deliveryOf(parts, isDue ? current : webhook, after, message, result, isDue);
    const wasPaused = isDue && after?.status === 'paused' && current.status === 'active';
    if (wasPaused) await jobs.send(tx, 'webhook-mail', { data: { tenantId, id }, tenantId });
    // Sent together and executed in this order: the log's head is locked last.
    await Promise.all([
      after && isDue && saveWebhook(tx, after),
      current && insertDelivery(tx, row),
      recordInLog(tx, parts, current ?? webhook, row, who, wasPaused),
    ]);
    return { row, wasPaused };
  });
  if (wasPaused) jobs.wake();
  return row;
}

/** Whether this is the due message, and was sent to the current address. */
function isStillDue(current: WebhookRow, sent: WebhookRow, { messageId }: Message): boolean {
  return current.messageId === messageId && current.revision === sent.revision;
}

function settled(
  { chance, now }: WebhookParts,
  current: WebhookRow,
  { content }: Message,
  result: Attempted,
): WebhookRow {
  if (!result.ok || content.kind === 'test') return failedOnce(current, result, now(), chance());
  const announced = content.kind === 'export' ? content.sequence : null;
  return delivered(current, content.end, announced, now());
}

function deliveryOf(
  { newUuid }: WebhookParts,
  before: WebhookRow,
  after: WebhookRow | null,
  { messageId, messageType: type, content }: Message,
  { ok, atMs, durationMs, responseStatus, response, reason }: Attempted,
  isDue: boolean,
): DeliveryRow {
  const isDueAgain = isDue && !ok && after?.status === 'active';
  const events = content.kind === 'events' ? content.events : [];
  const [first, last] = 'sequence' in content ? [content, content] : [events[0], events.at(-1)];
  return {
    ...{ tenantId: before.tenantId, webhookId: before.id, id: newUuid(atMs), messageId, type },
    status: ok ? 'delivered' : 'failed',
    attempt: content.kind === 'test' ? 1 : before.attempt + 1,
    firstSequence: first?.sequence ?? null,
    lastSequence: last?.sequence ?? null,
    events: events.length,
    ...{ atMs, durationMs, responseStatus, response, reason },
    nextAttemptAtMs: isDueAgain ? after.dueAtMs : null,
  };
}

/** Locks the head of the log. */
async function recordInLog(
  tx: WriterTx,
  { recordOwn }: WebhookParts,
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
