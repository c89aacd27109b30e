import { AppError } from '../http/problem.ts';
import { haltReason } from '../log/checkpoint.store.ts';
import { logIsHalted } from '../log/store.ts';
import type { Who } from '../own-event.ts';
import { type AttemptDeps, attemptCall } from './attempt.ts';
import { type RecordDeps, recordAttempt } from './record-attempt.ts';
import type { WebhookRow } from './store.ts';

export interface TestDeps extends AttemptDeps, RecordDeps {}

const haltAnswerMs = 10_000;

/**
 * Calls receivers without an event, even if the webhook is paused; recorded like a delivery, in the
 * name of the caller. One at a time for each webhook in this process: throws `conflict`, and
 * `unavailable` while recording is stopped.
 */
export function testerOf(deps: TestDeps) {
  const running = new Set<string>();
  return async (webhook: WebhookRow, who: Who) => {
    if (running.has(webhook.id)) {
      throw new AppError('conflict', 'a test of this webhook is under way');
    }
    running.add(webhook.id);
    return test(deps, webhook, who).finally(() => running.delete(webhook.id));
  };
}

/** The result for the caller. */
async function test(deps: TestDeps, webhook: WebhookRow, who: Who) {
  // Nothing is sent that cannot be recorded.
  if ((await haltReason(deps.db, haltAnswerMs)) !== null) throw logIsHalted();
  const atMs = deps.now();
  const messageId = deps.newUuid(atMs);
  const content = { kind: 'test' } as const;
  const result = await attemptCall(deps, webhook, { messageId, atMs, content });
  const nothing = { firstSequence: null, lastSequence: null, events: 0 };
  const sent = { webhook, message: null, messageId, type: 'audit.webhook.test', ...nothing };
  await recordAttempt(deps, sent, result, who);
  const { ok, responseStatus: status, reason, response, durationMs } = result;
  return { ok, status, reason, response, durationMs };
}
