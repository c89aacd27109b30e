import { panelRoot, retryAfterMs, typeId } from '@indelible/protocol';
import { keptText, type OutboundCall, type OutboundResult } from '../outbound/outbound.ts';
import { signatureHeaders } from '../outbound/standard-webhooks.ts';
import type { Parts } from '../parts.ts';
import { withoutCredentials } from './format/without-credentials.ts';
import { formats } from './formats.ts';
import type { Content } from './next-message.ts';
import { type Opened, openSecrets } from './sealed-secrets.ts';
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

export interface Attempted {
  ok: boolean;
  /** The receiver wants no more messages, permanently. */
  isGone: boolean;
  responseStatus: number | null;
  /** One line of at most 1 KiB of the answer. */
  response: string | null;
  reason: string | null;
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
    return { kind: 'failed', reason: unreadable } as const;
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
  const opened = openSecrets(sealer, webhook, atMs);
  const made = messageCall(webhook, opened, message, atMs, `${publicUrl()}${panelRoot}`);
  // The format's own last: they cannot be replaced.
  const headers = { ...opened.headers, ...made.headers };
  const result = await outbound({ ...made, headers, ...(signal && { signal }) });
  if (result.kind === 'failed') return result;
  // Some receivers repeat a refused body, and answers are shown.
  const secrets = [opened.credential ?? '', ...Object.values(opened.headers)];
  return { ...result, text: withoutCredentials(result.text, secrets) };
}

function messageCall(
  webhook: WebhookRow,
  opened: Opened,
  message: Message,
  nowMs: number,
  panelUrl: string,
): OutboundCall {
  const id = typeId(messageIdPrefix, message.messageId);
  const made = unsignedCall(webhook, opened, { ...message, messageId: id }, nowMs, panelUrl);
  if (!formats[webhook.format].isSigned) return made;
  const signature = signatureHeaders({ id, body: made.body }, opened.secrets, nowMs);
  return { ...made, headers: { ...made.headers, ...signature } };
}

function unsignedCall(
  { id: webhookId, tenantId, url, options, format: name }: WebhookRow,
  { credential }: Opened,
  { messageId, messageAtMs: atMs, content }: Message,
  nowMs: number,
  panelUrl: string,
): OutboundCall {
  const format = formats[name];
  const target = { url, credential, options: JSON.parse(options) };
  if (content.kind === 'test') return format.health(target, { tenantId, webhookId, atMs });
  if (content.kind === 'export') {
    if (!format.exportReady) throw new Error(`${name} has no message about an export`);
    return format.exportReady(target, content.export, atMs);
  }
  if (content.kind === 'alert' && format.alert) {
    const { ruleId, ruleName, alertIds: ids } = content.alert;
    const page = `${panelUrl}/events?resource=alert&resource_id=${ruleId}`;
    return format.alert(target, { tenantId, ruleId, ruleName, ids, url: page, atMs });
  }
  const told = content.kind === 'alert' ? [content.alert] : content.events;
  const events = told.map(({ text }) => text);
  return format.deliver(target, { messageId, tenantId, events, panelUrl, atMs, nowMs });
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
