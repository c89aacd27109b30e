import type { MessageType } from '@indelible/protocol';
import { LeasedWorker } from '../background/leased-worker.ts';
import { visibility } from '../events/store.ts';
import { readTenant } from '../postgres/db.ts';
import { attemptCall, type Message, type WebhookParts } from './attempt.ts';
import { formats } from './formats.ts';
import {
  claimWebhook,
  getLeased,
  holdMessage,
  type LeasedWebhook,
  passOver,
  releaseWebhook,
} from './lease.store.ts';
import { type Content, readNext } from './next-message.ts';
import { recordAttempt } from './record-attempt.ts';
import type { WebhookRow } from './store.ts';

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
    async release(leased) {
      await releaseWebhook(db.background, leased);
      ended('webhook', true);
    },
    onError: (error) => ended('webhook', false, error),
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
  if (next.kind === 'passed') {
    await passOver(db.background, leased, webhook, next.end, now() + leaseMs);
    return true;
  }
  const message = messageOf(webhook, next, newUuid(now()), now());
  const heldAt = performance.now();
  const isHeld = await holdMessage(db.background, leased, webhook, message, now() + leaseMs);
  // Changed since it was read, or another process may have taken over: read again.
  if (!isHeld || performance.now() - heldAt > sendWithinMs) return true;
  return send(parts, webhook, message, stopping);
}

/** The webhook and its next message; null if another process has it, or it is paused. */
function readDue({ db, now }: WebhookParts, leased: LeasedWebhook) {
  return readTenant(db, leased.tenantId, async (tx) => {
    const [webhook, visible] = await Promise.all([getLeased(tx, leased), visibility(tx, now())]);
    if (!webhook || !visible) return null;
    const until = webhook.messageEnd ?? visible.size;
    const next = await readNext(
      tx,
      webhook,
      visible,
      until,
      formats[webhook.format].messageBytesMax,
    );
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
  return { messageId, messageAtMs, messageType, messageEnd: content.end, content };
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
