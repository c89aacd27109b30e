import { formatTimestamp, outcomeSaid } from '@indelible/protocol';
import { jsonObject } from '../../outbound/answers.ts';
import type { OutboundCall } from '../../outbound/outbound.ts';
import { fine, post, said, statusVerdict } from './answers.ts';
import { alertMessage, headline, isAlert, pageOf, plainLine } from './chat-lines.ts';
import { type EventFields, eventParts } from './event-parts.ts';
import type { AlertNews, FormatVerdict, MessageFormat, MessageTarget } from './message-format.ts';
import { callUrl, credentialLike, oneOf, soundCredential, urlCheck } from './value-checks.ts';

const keyProblem = credentialLike(
  /^[\w-]{20,64}$/,
  'is not an integration key of the Events API v2: 32 letters and digits',
);

/**
 * PagerDuty's Events API v2: `POST /v2/enqueue`, one event a call. Alerts of one rule share their
 * `dedup_key`, so that they are one incident while it is open; acknowledging one here acknowledges
 * it there. Every other event is an incident of its own, and a repeated message changes nothing.
 * From developer.pagerduty.com: "Events API v2", "Send an alert event" (`summary` of at most 1,024
 * characters, `severity`, `dedup_key` of at most 255, 512 KB a call; 202, 400, 429).
 */
export const pagerduty = {
  options: { severity: oneOf('critical', 'error', 'warning', 'info') },
  credential: 'required',
  isForPeople: true,
  messageBytesMax: 1, // every event is sent alone
  credentialProblem: keyProblem,
  urlProblem: urlCheck('routing_key'),
  deliver(target, { events, panelUrl }) {
    const [event = ''] = events;
    return call(target, payloadOf(eventParts(event).fields, target, panelUrl));
  },
  alert: (target, news) => call(target, alertPayload(news, target)),
  judge,
  // Resolving an unknown incident is accepted and changes nothing.
  health: (target) => call(target, { event_action: 'resolve', dedup_key: 'indelible-test' }),
} satisfies MessageFormat;

function payloadOf(event: EventFields, { options }: MessageTarget, panelUrl: string) {
  const { id, tenantId, actor, action, resource, category, timestamp, reason } = event;
  const isAcknowledged = action === 'acknowledge' && resource.type === 'alert';
  const isOfRule = isAlert(event) || isAcknowledged;
  const page = pageOf(panelUrl, event);
  const details = {
    actor: actor.email ?? actor.name ?? actor.id,
    action,
    resource: resource.name ?? resource.id,
    resourceType: resource.type,
    ip: actor.ip,
    reason,
    event: id,
  };
  return {
    event_action: isAcknowledged ? 'acknowledge' : 'trigger',
    dedup_key: isOfRule ? keyOfRule(tenantId, resource.id) : id,
    ...linksTo(page),
    payload: {
      summary: headline(event),
      source: new URL(panelUrl).host,
      severity: isAlert(event) ? (options.severity ?? 'error') : severityOf(event),
      timestamp,
      component: resource.type,
      group: tenantId,
      class: category,
      custom_details: Object.fromEntries(
        Object.entries(details).map(([name, value]) => [name, value && plainLine(value)]),
      ),
    },
  };
}

const keyOfRule = (tenantId: string, ruleId: string) => `indelible:${tenantId}:${ruleId}`;

const linksTo = (page: string) => {
  const links = [{ href: page, text: 'Open in the audit log' }];
  return { client: 'Indelible', client_url: page, links };
};

/** The payload of the incident that the alerts' events opened. */
function alertPayload(news: AlertNews, { options }: MessageTarget) {
  const { tenantId, ruleId, ids, url, atMs } = news;
  const { title, lines } = alertMessage(news);
  return {
    event_action: 'trigger',
    dedup_key: keyOfRule(tenantId, ruleId),
    ...linksTo(url),
    payload: {
      summary: lines[0]?.text ?? title,
      source: new URL(url).host,
      severity: options.severity ?? 'error',
      timestamp: formatTimestamp(atMs),
      component: 'alert',
      group: tenantId,
      custom_details: { alerts: String(ids.length) },
    },
  };
}

function severityOf({ outcome, action }: EventFields): string {
  const known = outcomeSaid(outcome, action);
  return known === 'failure' || known === 'denied' ? 'warning' : 'info';
}

function call(target: MessageTarget, message: object): OutboundCall {
  const routing_key = soundCredential(target.credential, keyProblem);
  const url = callUrl(target.url, /\/v2(\/enqueue)?$/, '/v2/enqueue');
  return post(url, JSON.stringify({ routing_key, ...message }));
}

/** `{"status": "invalid event", "message": "…", "errors": ["…"]}` with 400. */
function judge(status: number, text: string): FormatVerdict {
  const { status: word, message, errors } = jsonObject(text);
  if (status === 202 && word === 'success') return fine;
  const first: unknown = Array.isArray(errors) ? errors[0] : undefined;
  return statusVerdict('PagerDuty', status, said(first, 100) || said(message, 100));
}
