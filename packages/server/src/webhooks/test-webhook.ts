import { AppError } from '../http/problem.ts';
import { haltReason } from '../log/checkpoint.store.ts';
import { logIsHalted } from '../log/store.ts';
import type { Who } from '../own-event.ts';
import { attemptCall, type WebhookParts } from './attempt.ts';
import { recordAttempt } from './deliver.job.ts';
import type { WebhookRow } from './store.ts';

const haltAnswerMs = 10_000;

/**
 * Calls receivers without an event, even if the webhook is paused; recorded like a delivery, in the
 * name of the caller. One at a time for each webhook in this process: throws `conflict`, and
 * `unavailable` while recording is stopped.
 */
export function testerOf(parts: WebhookParts) {
  const running = new Set<string>();
  return async (webhook: WebhookRow, who: Who) => {
    if (running.has(webhook.id)) {
      throw new AppError('conflict', 'a test of this webhook is under way');
    }
    running.add(webhook.id);
    return test(parts, webhook, who).finally(() => running.delete(webhook.id));
  };
}

/** The result for the caller. */
async function test(parts: WebhookParts, webhook: WebhookRow, who: Who) {
  // Nothing is sent that cannot be recorded.
  if ((await haltReason(parts.db, haltAnswerMs)) !== null) throw logIsHalted();
  const messageAtMs = parts.now();
  const message = {
    messageId: parts.newUuid(messageAtMs),
    messageAtMs,
    ...({ messageType: 'audit.webhook.test', content: { kind: 'test' } } as const),
  };
  const result = await attemptCall(parts, webhook, message);
  await recordAttempt(parts, webhook, message, result, who);
  const { ok, responseStatus: status, reason, response, durationMs } = result;
  return { ok, status, reason, response, durationMs };
}
