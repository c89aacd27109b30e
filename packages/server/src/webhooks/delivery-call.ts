import { typeId } from '@indelible/protocol';
import { keptText, type OutboundCall, type OutboundResult } from '../outbound/outbound.ts';
import { signatureHeaders } from '../outbound/standard-webhooks.ts';
import { formats } from './formats.ts';
import { messageIdPrefix } from './ids.ts';
import type { Content } from './next-message.ts';
import type { WebhookRow } from './store.ts';

/** The decrypted secrets, credential and own headers of a webhook. */
export interface Opened {
  /** The current one, and the previous one while it is valid. */
  secrets: readonly string[];
  credential: string | null;
  headers: Readonly<Record<string, string>>;
}

/** The result of a call; `response` is one line of at most 1 KiB of the answer. */
export interface Outcome {
  ok: boolean;
  /** The receiver wants no more messages, permanently. */
  isGone: boolean;
  responseStatus: number | null;
  response: string | null;
  reason: string | null;
}

/** A message, or a test; `atMs` is when it was made first. */
export interface Message {
  messageId: string;
  atMs: number;
  content: Content | { kind: 'test' };
}

/** The call that delivers a message, in the format of its webhook. */
export function messageCall(
  webhook: WebhookRow,
  opened: Opened,
  message: Message,
  nowMs: number,
  panelUrl: string,
): OutboundCall {
  const id = typeId(messageIdPrefix, message.messageId);
  const call = unsignedCall(webhook, opened, { ...message, messageId: id }, nowMs, panelUrl);
  if (!formats[webhook.format].isSigned) return call;
  const signature = signatureHeaders({ id, body: call.body }, opened.secrets, nowMs);
  return { ...call, headers: { ...call.headers, ...signature } };
}

function unsignedCall(
  { id: webhookId, tenantId, url, options, format: name }: WebhookRow,
  { credential }: Opened,
  { messageId, atMs, content }: Message,
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

/** The meaning of a result in this format: of a message, or of a test. */
export function judge(
  { format: name }: Pick<WebhookRow, 'format'>,
  result: OutboundResult,
  isTest = false,
): Outcome {
  const unanswered = { isGone: false, responseStatus: null, response: null };
  if (result.kind === 'failed') return { ok: false, ...unanswered, reason: result.reason };
  const { status, text } = result;
  const answered = { responseStatus: status, response: keptText(text) || null };
  const format = formats[name];
  const verdict = isTest ? format.judgeHealth(status, text) : format.judge(status, text);
  if (verdict.ok) return { ok: true, isGone: false, ...answered, reason: null };
  const reason = keptText(verdict.reason) || null;
  return { ok: false, isGone: status === 410, ...answered, reason };
}
