import type { MessageType } from '@indelible/protocol';
import { LeasedWorker } from '../background/leased-worker.ts';
import { visibility } from '../events/store.ts';
import { byService, type Who } from '../own-event.ts';
import { readTenant, type WriterTx, writeInBackground } from '../postgres/db.ts';
import { type Attempted, attemptCall, type Message, type WebhookParts } from './attempt.ts';
import { type DeliveryRow, insertDelivery } from './deliveries.store.ts';
import { formats } from './formats.ts';
import {
  claimWebhook,
  getLeased,
  type LeasedWebhook,
  moveTo,
  releaseWebhook,
} from './lease.store.ts';
import { type Content, readNext } from './next-message.ts';
import { lockWebhook, noMessage, saveWebhook, type WebhookRow } from './store.ts';
import { pausedEvent, sentEvent } from './webhook-event.ts';
import { delivered, failedOnce } from './webhook-state.ts';

const webhooksAtOnce = 20;
/** Slow receivers of one tenant leave room for others. */
const perTenant = 4;
/** Longer than reading, calling and recording together. */
export const leaseMs = 30_000;
/** How much of it may have passed when a call begins, which takes up to 10 s. */
const sendWithinMs = 10_000;
/**
 * Delivers to all webhooks: several at once, each by one process at a time, the longest waiting
 * first. Work is found in the logs, so nothing needs a queue and nothing can be lost.
 */
export function createWebhookWorker(parts: WebhookParts): LeasedWorker<LeasedWebhook> {
  const { db, now, ended } = parts;
  return new LeasedWorker<LeasedWebhook>({
    atOnce: webhooksAtOnce,
    claim(lease, running) {
      const byTenant = Map.groupBy(running, ({ tenantId }) => tenantId);
      const busy = [...byTenant].flatMap(([id, all]) => (all.length >= perTenant ? [id] : []));
      return claimWebhook(db.background, lease, busy, now(), now() + leaseMs);
    },
    run: (leased, stopping) => deliverNext(parts, leased, stopping),
    release: (leased) => releaseWebhook(db.background, leased),
    work: 'webhook',
    ended,
  });
}

/**
 * Delivers the next due message. It is stored, sent, and recorded: after a crash in between it is
 * sent again under its id. False if there is nothing more to do now.
 */
async function deliverNext(
  parts: WebhookParts,
  leased: LeasedWebhook,
  stopping: AbortSignal,
): Promise<boolean> {
  const { db, now, newUuid } = parts;
  const read = await readDue(parts, leased);
  if (read === null || read.next.kind === 'nothing') return false;
  const { webhook, next } = read;
  const message = next.kind === 'passed' ? null : messageOf(webhook, next, newUuid(now()), now());
  const place = message ?? { ...noMessage, nextSequence: next.end };
  const began = performance.now();
  const isStored = await moveTo(db.background, leased, webhook, place, now() + leaseMs);
  // Changed since it was read, or another process may have taken over: read again.
  const isLate = !isStored || performance.now() - began > sendWithinMs;
  return message === null || isLate ? true : send(parts, webhook, message, stopping);
}

/** The webhook and its next message; null if another process has it, or it is paused. */
function readDue({ db, now }: WebhookParts, leased: LeasedWebhook) {
  return readTenant(db, leased.tenantId, async (tx) => {
    const [webhook, visible] = await Promise.all([getLeased(tx, leased), visibility(tx, now())]);
    if (!webhook || !visible) return null;
    const until = webhook.messageEnd ?? visible.size;
    const next = await readNext(webhook, visible, until, formats[webhook.format].messageBytesMax);
    return { webhook, next };
  });
}

const typesOf = {
  events: 'audit.events.recorded',
  export: 'audit.export.ready',
  alert: 'audit.alert.raised',
} as const satisfies Record<Content['kind'], MessageType>;

/** The message stored before, or a new one. */
function messageOf(webhook: WebhookRow, content: Content, newId: string, nowMs: number) {
  const messageType = typesOf[content.kind];
  const isSame = webhook.messageId !== null && webhook.messageType === messageType;
  const { messageId, messageAtMs } = isSame ? webhook : { messageId: newId, messageAtMs: nowMs };
  const { nextSequence } = webhook;
  return { nextSequence, messageId, messageAtMs, messageType, messageEnd: content.end, content };
}

async function send(
  parts: WebhookParts,
  webhook: WebhookRow,
  message: Message,
  stopping: AbortSignal,
): Promise<boolean> {
  const result = await attemptCall(parts, webhook, message, stopping);
  // An interrupted call has no outcome.
  if (stopping.aborted) return false;
  parts.attempted(result.ok, result.durationMs / 1_000);
  const { status } = await recordAttempt(parts, webhook, message, result);
  return status === 'delivered';
}

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
    tenantId: before.tenantId,
    webhookId: before.id,
    id: newUuid(atMs),
    messageId,
    type,
    status: ok ? 'delivered' : 'failed',
    attempt: content.kind === 'test' ? 1 : before.attempt + 1,
    firstSequence: first?.sequence ?? null,
    lastSequence: last?.sequence ?? null,
    events: events.length,
    atMs,
    durationMs,
    responseStatus,
    response,
    reason,
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
