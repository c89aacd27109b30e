import { formatTimestamp, typeId } from '@indelible/protocol';
import { byItself, changeOf, type OwnEvent, type Who } from '../own-event.ts';
import type { DeliveryRow } from './deliveries.store.ts';
import { headerNames } from './own-headers.ts';
import type { WebhookRow, WebhookSettings } from './store.ts';
import { messageIdPrefix } from './store.ts';

export const byService: Who = { actor: byItself, reason: null };

type Named = Pick<WebhookRow, 'id' | 'name'>;

/** The log's record of an attempt: without the events, and never delivered itself. */
export function sentEvent(webhook: Named, delivery: DeliveryRow, { actor, reason }: Who): OwnEvent {
  const { type, events, firstSequence, lastSequence, attempt, status, responseStatus } = delivery;
  const messageId = typeId(messageIdPrefix, delivery.messageId);
  return {
    actor,
    action: 'send',
    outcome: status === 'failed' ? 'failure' : 'success',
    resource: resource(webhook),
    diff: {},
    after: {
      ...{ messageId, type, events, firstSequence, lastSequence, attempt },
      ...{ outcome: status, status: responseStatus },
    },
    reason,
  };
}

/** Created, changed or removed: the settings without secrets. */
export function changedEvent(
  { actor, reason }: Who,
  before: WebhookState | null,
  after: WebhookState | null,
): OwnEvent {
  const either = after ?? before;
  if (either === null) throw new Error('nothing was changed');
  const change = changeOf(
    before && stateOf(before),
    after && { ...stateOf(after), ...replacedIn(before, after) },
  );
  return { actor, ...change, resource: resource(either), reason };
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
    ...{ name, url, format, types },
    filters: JSON.parse(filters),
    options: JSON.parse(options),
    hasCredential: credential !== null,
    headerNames: headerNames(webhook),
  };
}

/** Paused, by a person or after failed deliveries. */
export function pausedEvent(
  webhook: WebhookRow,
  { actor, reason }: Who,
  because: 'requested' | 'failing',
  failure: string | null = null,
): OwnEvent {
  const diff = { status: { from: webhook.status, to: 'paused' } };
  const after = { status: 'paused', pausedBecause: because, failure };
  return { actor, action: 'pause', resource: resource(webhook), diff, after, reason };
}

export function resumedEvent(webhook: WebhookRow, { actor, reason }: Who): OwnEvent {
  const diff = { status: { from: webhook.status, to: 'active' } };
  return { actor, action: 'resume', resource: resource(webhook), diff, reason };
}

/** A new secret signs; the previous one also, until the given time. */
export function rotatedEvent(webhook: Named, { actor, reason }: Who, untilMs: number): OwnEvent {
  const after = { previousValidUntil: formatTimestamp(untilMs) };
  return { actor, action: 'rotate', resource: resource(webhook), diff: {}, after, reason };
}

export function replayedEvent(
  webhook: WebhookRow,
  { actor, reason }: Who,
  nextSequence: number,
): OwnEvent {
  const diff = { nextSequence: { from: webhook.nextSequence, to: nextSequence } };
  return { actor, action: 'replay', resource: resource(webhook), diff, reason };
}

const resource = ({ id, name }: Named) => ({ type: 'webhook', id, name });
