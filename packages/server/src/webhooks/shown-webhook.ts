import { timestampOrNull as time, typeId } from '@indelible/protocol';
import type { DeliveryRow } from './deliveries.store.ts';
import { headerNames } from './own-headers.ts';
import type { WebhookRow } from './store.ts';
import { deliveryIdPrefix, messageIdPrefix, webhookIdPrefix } from './store.ts';

/** A webhook as the API shows it; `size` is that of the log. */
export function shownWebhook(
  row: WebhookRow,
  size: number,
  last: DeliveryRow | undefined,
  nowMs: number,
) {
  const { previousSecretUntilMs: until, status, attempt, dueAtMs } = row;
  return {
    id: typeId(webhookIdPrefix, row.id),
    name: row.name,
    url: row.url,
    format: row.format,
    types: row.types,
    filters: JSON.parse(row.filters),
    options: JSON.parse(row.options),
    hasCredential: row.credential !== null,
    headerNames: headerNames(row),
    status,
    pausedBecause: row.pausedBecause,
    nextSequence: row.nextSequence,
    behind: Math.max(0, size - row.nextSequence),
    attempt,
    nextAttemptAt: status === 'active' && attempt > 0 ? time(dueAtMs) : null,
    lastDelivery: last ? shownDelivery(last) : null,
    previousSecretValidUntil: until !== null && until > nowMs ? time(until) : null,
    createdAt: time(row.createdAtMs),
    updatedAt: time(row.updatedAtMs),
  };
}

export function shownDelivery(row: DeliveryRow) {
  const { type, status, attempt, firstSequence, lastSequence, events } = row;
  const { durationMs, responseStatus, response, reason } = row;
  return {
    id: typeId(deliveryIdPrefix, row.id),
    messageId: typeId(messageIdPrefix, row.messageId),
    ...{ type, status, attempt, firstSequence, lastSequence, events },
    at: time(row.atMs),
    ...{ durationMs, responseStatus, response, reason },
    nextAttemptAt: time(row.nextAttemptAtMs),
  };
}
