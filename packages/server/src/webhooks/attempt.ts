import { callFailures, panelRoot, retryAfterMs, typeId } from '@indelible/protocol';
import { keptText, type OutboundCall, type OutboundResult } from '../outbound/outbound.ts';
import { signatureHeaders } from '../outbound/standard-webhooks.ts';
import type { Parts } from '../parts.ts';
import type { AttemptFacts } from './deliveries.store.ts';
import { withoutCredentials } from './format/without-credentials.ts';
import { formats } from './formats.ts';
import type { Content } from './next-message.ts';
import { openSecrets } from './sealed-secrets.ts';
import { messageIdPrefix, type PendingMessage, type WebhookRow } from './store.ts';

export interface WebhookParts extends Parts {
  /** Whether plain http and private addresses may be called. */
  allowPrivate: boolean;
  /** From 0 up to 1, for the jitter of pauses. */
  chance: () => number;
  attempted: (ok: boolean, seconds: number) => void;
  onError: (error: unknown) => void;
}

export type Message = Pick<PendingMessage, 'messageId' | 'messageAtMs'> & {
  messageType: PendingMessage['messageType'] | 'audit.webhook.test';
  content: Content | { kind: 'test' };
};

export interface Attempted extends AttemptFacts {
  ok: boolean;
  /** The receiver wants no more messages, permanently. */
  isGone: boolean;
  /** How long the receiver asks to wait; 0: it does not. */
  retryAfterMs: number;
}

/**
 * One call to a webhook. Never throws: an error before the call is the outcome. So a webhook that
 * cannot be called is paused after its last attempt, as one that does not answer.
 */
export async function attemptCall(
  parts: WebhookParts,
  webhook: WebhookRow,
  message: Message,
  signal?: AbortSignal,
): Promise<Attempted> {
  const { now, onError } = parts;
  const atMs = now();
  const began = performance.now();
  const called = await call(parts, webhook, message, atMs, signal).catch((error: unknown) => {
    onError(error);
    return { kind: 'failed', reason: callFailures.secretsLost } as const;
  });
  const durationMs = Math.round(performance.now() - began);
  const retryAfter = called.kind === 'answered' ? called.retryAfter : null;
  const times = { atMs, durationMs, retryAfterMs: retryAfterMs(retryAfter, now()) };
  return { ...outcomeOf(webhook, called, message.content.kind === 'test'), ...times };
}

async function call(
  { outbound, sealer, publicUrl }: WebhookParts,
  webhook: WebhookRow,
  message: Message,
  atMs: number,
  signal: AbortSignal | undefined,
): Promise<OutboundResult> {
  const { secrets: keys, credential, headers: own } = openSecrets(sealer, webhook, atMs);
  const id = typeId(messageIdPrefix, message.messageId);
  const made = unsignedCall(webhook, credential, message, atMs, `${publicUrl()}${panelRoot}`);
  const signature =
    formats[webhook.format].isSigned && signatureHeaders({ id, ...made }, keys, atMs);
  // The webhook's own first: they replace no other.
  const headers = { ...own, ...made.headers, ...signature };
  const result = await outbound({ ...made, headers, ...(signal && { signal }) });
  if (result.kind === 'failed') return result;
  // Some receivers repeat a refused body, and answers are shown.
  const secrets = [credential ?? '', ...Object.values(own)];
  return { ...result, text: withoutCredentials(result.text, secrets) };
}

function unsignedCall(
  { id: webhookId, tenantId, url, options, format: name }: WebhookRow,
  credential: string | null,
  { messageAtMs: atMs, content }: Message,
  nowMs: number,
  panelUrl: string,
): OutboundCall {
  const format = formats[name];
  const target = { url, credential, options: JSON.parse(options) };
  const told = { tenantId, panelUrl, atMs, nowMs };
  if (content.kind === 'test') return format.health(target, told, webhookId);
  if (content.kind === 'export') {
    if (!format.exportReady) throw new Error(`${name} has no message about an export`);
    return format.exportReady(target, told, content.export);
  }
  if (content.kind === 'alert' && format.alert) {
    const page = `${panelUrl}/events?resource=alert&resource_id=${content.alerts.ruleId}`;
    return format.alert(target, { ...told, ...content.alerts, url: page });
  }
  const events = content.kind === 'alert' ? [content] : content.events;
  return format.deliver(target, { ...told, events: events.map(({ text }) => text) });
}

/** The meaning of a result in the webhook's format: of a message, or of a test. */
function outcomeOf(
  { format: name }: WebhookRow,
  result: Extract<OutboundResult, { kind: 'answered' }> | { kind: 'failed'; reason: string },
  isTest: boolean,
) {
  const unanswered = { isGone: false, responseStatus: null, response: null };
  if (result.kind === 'failed') return { ok: false, ...unanswered, reason: result.reason };
  const { status, text } = result;
  const { judge, judgeHealth = judge } = formats[name];
  const verdict = isTest ? judgeHealth(status, text) : judge(status, text);
  return {
    ok: verdict.ok,
    isGone: status === 410 && !verdict.ok,
    responseStatus: status,
    response: keptText(text) || null,
    reason: verdict.ok ? null : keptText(verdict.reason) || null,
  };
}
