import { typeId } from '@indelible/protocol';
import { keptText, type OutboundCall, type OutboundResult } from '../outbound/outbound.ts';
import { signatureHeaders, signedPost } from '../outbound/standard-webhooks.ts';
import { failed, fine, isSuccess } from './format/answers.ts';
import type { FormatVerdict } from './format/stream-format.ts';
import { streamFormats } from './formats.ts';
import {
  alertBody,
  alertsUrl,
  eventsBody,
  exportBody,
  messageIdPrefix,
  testBody,
} from './message-body.ts';
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

const webhookBytesMax = 4 * 2 ** 20;

/** The most bytes of event texts in one message. */
export function messageBytesMax({ format }: Pick<WebhookRow, 'format'>): number {
  return format === 'webhook' ? webhookBytesMax : streamFormats[format].messageBytesMax;
}

export function isSigned({ format }: Pick<WebhookRow, 'format'>): boolean {
  return format === 'webhook' || format === 'generic';
}

/**
 * The call that delivers a message, in the format of its webhook. `atMs` is when it was made
 * first.
 */
export function messageCall(
  webhook: WebhookRow,
  opened: Opened,
  message: { messageId: string; atMs: number; content: Content },
  nowMs: number,
  panelUrl: string,
): OutboundCall {
  const id = typeId(messageIdPrefix, message.messageId);
  const { content, atMs } = message;
  const { tenantId, url, format } = webhook;
  if (format === 'webhook' || content.kind === 'export') {
    const body = bodyOf(tenantId, content, atMs, panelUrl);
    return signedPost(url, { id, body }, opened.secrets, nowMs);
  }
  const [stream, target] = [streamFormats[format], targetOf(webhook, opened)];
  if (content.kind === 'alert' && stream.alert) {
    const { ruleId, ruleName, alertIds } = content.alert;
    const told = { tenantId, ruleId, ruleName, count: alertIds.length, atMs };
    const call = stream.alert(target, { ...told, url: alertsUrl(panelUrl, ruleId) });
    return signedIfSo(webhook, opened, id, call, nowMs);
  }
  const told = content.kind === 'alert' ? [content.alert] : content.events;
  const events = told.map(({ text }) => text);
  const batch = { messageId: id, tenantId, events, panelUrl, nowMs };
  return signedIfSo(webhook, opened, id, stream.deliver(target, batch), nowMs);
}

/** The body of a message of the format `webhook`. */
function bodyOf(tenantId: string, content: Content, atMs: number, panelUrl: string): string {
  if (content.kind === 'export') return exportBody(atMs, content.export);
  if (content.kind === 'alert') return alertBody(tenantId, atMs, content.alert, panelUrl);
  const texts = content.events.map(({ text }) => text);
  return eventsBody(tenantId, atMs, texts);
}

/** A call that tests the webhook without an event. */
export function testCall(
  webhook: WebhookRow,
  opened: Opened,
  messageId: string,
  nowMs: number,
): OutboundCall {
  const id = typeId(messageIdPrefix, messageId);
  const { tenantId, url, format } = webhook;
  if (format === 'webhook') {
    const body = testBody(tenantId, webhook.id, nowMs);
    return signedPost(url, { id, body }, opened.secrets, nowMs);
  }
  const health = streamFormats[format].health(targetOf(webhook, opened));
  return signedIfSo(webhook, opened, id, health, nowMs);
}

const targetOf = ({ url, options }: WebhookRow, { credential }: Opened) => {
  return { url, credential, options: JSON.parse(options) as Record<string, string> };
};

function signedIfSo(
  webhook: WebhookRow,
  { secrets }: Opened,
  id: string,
  call: OutboundCall,
  nowMs: number,
): OutboundCall {
  if (!isSigned(webhook)) return call;
  const signature = signatureHeaders({ id, body: call.body }, secrets, nowMs);
  return { ...call, headers: { ...call.headers, ...signature } };
}

/** The meaning of a result in this format: of a message, or of a test. */
export function judge(
  { format }: Pick<WebhookRow, 'format'>,
  result: OutboundResult,
  isTest = false,
): Outcome {
  if (result.kind === 'failed') {
    return {
      ok: false,
      isGone: false,
      responseStatus: null,
      response: null,
      reason: result.reason,
    };
  }
  const { status, text } = result;
  const answered = { responseStatus: status, response: keptText(text) || null };
  const verdict = verdictOf(format, status, text, isTest);
  if (verdict.ok) return { ok: true, isGone: false, ...answered, reason: null };
  const reason = keptText(verdict.reason) || null;
  return { ok: false, isGone: status === 410, ...answered, reason };
}

function verdictOf(format: WebhookRow['format'], status: number, text: string, isTest: boolean) {
  if (format === 'webhook') return webhookVerdict(status);
  const { judge: judgeMessage, judgeHealth } = streamFormats[format];
  return isTest ? judgeHealth(status, text) : judgeMessage(status, text);
}

/** Standard Webhooks: any 2xx is a delivery, 410 ends them. */
function webhookVerdict(status: number): FormatVerdict {
  if (isSuccess(status)) return fine;
  const answered = `the receiver answered ${status}`;
  if (status === 410) return failed(`${answered}: it accepts no more messages`);
  const isRedirect = status >= 300 && status < 400;
  return failed(isRedirect ? `${answered}, and redirects are not followed` : answered);
}
