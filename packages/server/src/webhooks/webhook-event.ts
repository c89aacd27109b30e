import { typeId } from '@indelible/protocol';
import { actOf, changedBy, type OwnEvent, type Who } from '../own-event.ts';
import type { DeliveryRow } from './deliveries.store.ts';
import { headerNames } from './own-headers.ts';
import type { WebhookRow, WebhookSettings } from './store.ts';
import { messageIdPrefix } from './store.ts';

type Named = Pick<WebhookRow, 'id' | 'name'>;

/** The log's record of an attempt: without the events, and never delivered itself. */
export function sentEvent(webhook: Named, delivery: DeliveryRow, who: Who): OwnEvent {
  const { type, events, firstSequence, lastSequence, attempt, status, responseStatus } = delivery;
  const messageId = typeId(messageIdPrefix, delivery.messageId);
  return actOf(who, 'send', resource(webhook), {
    outcome: status === 'failed' ? 'failure' : 'success',
    after: {
      messageId,
      type,
      events,
      firstSequence,
      lastSequence,
      attempt,
      outcome: status,
      status: responseStatus,
    },
  });
}

/** Created, changed or removed: the settings without secrets. */
export function changedEvent(
  who: Who,
  before: WebhookState | null,
  after: WebhookState | null,
): OwnEvent {
  const either = after ?? before;
  if (either === null) throw new Error('nothing was changed');
  const now = after && { ...stateOf(after), ...replacedIn(before, after) };
  return changedBy(who, resource(either), before && stateOf(before), now);
}

type WebhookState = Named & WebhookSettings & Pick<WebhookRow, 'credential' | 'headers'>;

/** Names of headers that were there and have another value now, which only this would tell. */
function replacedIn(before: WebhookState | null, after: WebhookState) {
  const [old, now] = [before, after].map((each) => JSON.parse(each?.headers ?? '{}'));
  const isReplaced = (name: string) => Object.hasOwn(old, name) && old[name] !== now[name];
  const headersReplaced = Object.keys(now).filter(isReplaced);
  return headersReplaced.length > 0 ? { headersReplaced } : {};
}

function stateOf(webhook: WebhookState) {
  const { name, url, format, types, filters, options, credential } = webhook;
  return {
    name,
    url,
    format,
    types,
    filters: JSON.parse(filters),
    options: JSON.parse(options),
    hasCredential: credential !== null,
    headerNames: headerNames(webhook),
  };
}

export function pausedEvent(
  webhook: WebhookRow,
  who: Who,
  pausedBecause: 'requested' | 'failing',
  failure: string | null = null,
): OwnEvent {
  const diff = { status: { from: webhook.status, to: 'paused' } };
  const after = { status: 'paused', pausedBecause, failure };
  return actOf(who, 'pause', resource(webhook), { diff, after });
}

export const resource = ({ id, name }: Named) => ({ type: 'webhook', id, name });
