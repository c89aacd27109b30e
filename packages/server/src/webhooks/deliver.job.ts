import type { MessageType } from '@indelible/protocol';
import { LeasedWorker } from '../background/leased-worker.ts';
import { visibility } from '../events/store.ts';
import type { Parts } from '../parts.ts';
import { readTenant } from '../postgres/db.ts';
import { type AttemptDeps, attemptCall } from './attempt.ts';
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
import { type RecordDeps, recordAttempt, type Sent } from './record-attempt.ts';
import type { PendingMessage, WebhookRow } from './store.ts';

export interface DeliverDeps extends AttemptDeps, RecordDeps, Pick<Parts, 'ended'> {
  /** Called for each attempt. */
  attempted: (ok: boolean, seconds: number) => void;
}

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
export function createWebhookWorker(deps: DeliverDeps): LeasedWorker<LeasedWebhook> {
  const { db, now, ended } = deps;
  return new LeasedWorker<LeasedWebhook>({
    atOnce: webhooksAtOnce,
    claim(lease, running) {
      const byTenant = Map.groupBy(running, ({ tenantId }) => tenantId);
      const busy = [...byTenant].flatMap(([id, all]) => (all.length >= perTenant ? [id] : []));
      return claimWebhook(db.background, lease, busy, now(), now() + leaseMs);
    },
    run: (leased, stopping) => deliverNext(deps, leased, stopping),
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
  deps: DeliverDeps,
  leased: LeasedWebhook,
  stopping: AbortSignal,
): Promise<boolean> {
  const { db, now, newUuid } = deps;
  const read = await readDue(deps, leased);
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
  return send(deps, webhook, message, next, stopping);
}

/** The webhook and its next message; null if another process has it, or it is paused. */
function readDue({ db, now }: DeliverDeps, leased: LeasedWebhook) {
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
function messageOf(
  webhook: WebhookRow,
  next: Content,
  newId: string,
  nowMs: number,
): PendingMessage {
  const messageType = typesOf[next.kind];
  const isSame = webhook.messageId !== null && webhook.messageType === messageType;
  return {
    messageId: isSame ? webhook.messageId : newId,
    messageAtMs: isSame ? webhook.messageAtMs : nowMs,
    messageType,
    messageEnd: next.end,
  };
}

async function send(
  deps: DeliverDeps,
  webhook: WebhookRow,
  message: PendingMessage,
  content: Content,
  stopping: AbortSignal,
): Promise<boolean> {
  const { messageId, messageAtMs: atMs } = message;
  const result = await attemptCall(deps, webhook, { messageId, atMs, content }, stopping);
  // An interrupted call has no outcome.
  if (stopping.aborted) return false;
  deps.attempted(result.ok, result.durationMs / 1_000);
  const { status } = await recordAttempt(deps, sentOf(webhook, message, content), result);
  return status === 'delivered';
}

function sentOf(webhook: WebhookRow, message: PendingMessage, content: Content): Sent {
  const sequences =
    content.kind === 'events' ? content.events.map((each) => each.sequence) : [content.sequence];
  return {
    ...{ webhook, message, messageId: message.messageId, type: message.messageType },
    firstSequence: sequences[0] ?? null,
    lastSequence: sequences.at(-1) ?? null,
    events: content.kind === 'events' ? sequences.length : 0,
  };
}
