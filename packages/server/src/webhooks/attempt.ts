import { panelRoot, retryAfterMs } from '@indelible/protocol';
import type { Parts } from '../parts.ts';
import { judge, type Message, messageCall, type Outcome } from './delivery-call.ts';
import { withoutCredentials } from './format/without-credentials.ts';
import { openSecrets } from './sealed-secrets.ts';
import type { WebhookRow } from './store.ts';

export interface AttemptDeps extends Pick<Parts, 'now' | 'outbound' | 'sealer' | 'publicUrl'> {
  onError: (error: unknown) => void;
}

export interface Attempted extends Outcome {
  atMs: number;
  durationMs: number;
  /** How long the receiver asks to wait; 0: it does not. */
  retryAfterMs: number;
}

const unreadable =
  'its secret, credential or headers cannot be decrypted, because SESSION_SECRET was changed, or ' +
  'its URL in the database: set them again';

/**
 * One call to a webhook. Never throws: an error before the call is the outcome. So a webhook that
 * cannot be called is paused after its last attempt, as one that does not answer.
 */
export async function attemptCall(
  { now, outbound, sealer, publicUrl, onError }: AttemptDeps,
  webhook: WebhookRow,
  message: Message,
  signal?: AbortSignal,
): Promise<Attempted> {
  const isTest = message.content.kind === 'test';
  const atMs = now();
  const began = performance.now();
  const ended = (outcome: Outcome, retryAfter: string | null = null) => {
    const durationMs = Math.round(performance.now() - began);
    return { ...outcome, atMs, durationMs, retryAfterMs: retryAfterMs(retryAfter, now()) };
  };
  try {
    const opened = openSecrets(sealer, webhook, atMs);
    const panelUrl = `${publicUrl()}${panelRoot}`;
    const call = messageCall(webhook, opened, message, atMs, panelUrl);
    // The format's own last: they cannot be replaced.
    const headers = { ...opened.headers, ...call.headers };
    const result = await outbound({ ...call, headers, ...(signal && { signal }) });
    if (result.kind !== 'answered') return ended(judge(webhook, result, isTest));
    // Some receivers repeat a refused body, and answers are shown.
    const text = withoutCredentials(result.text, [
      opened.credential ?? '',
      ...Object.values(opened.headers),
    ]);
    return ended(judge(webhook, { ...result, text }, isTest), result.retryAfter);
  } catch (error) {
    onError(error);
    const unanswered = { ok: false, isGone: false, responseStatus: null, response: null };
    return ended({ ...unanswered, reason: unreadable });
  }
}
