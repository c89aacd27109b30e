import type { CommittedEvent, SegmentName, StoredFields } from './event-fields.ts';
import { eventIdFromUuid, uuidTimeMs } from './event-id.ts';
import { formatTimestamp } from './timestamp.ts';

/*
 * The two texts made of every event: the hashed one and the shown one. Written out instead of a
 * loop over the field table, which takes a third longer; `event-texts.test.ts` compares them with
 * the table.
 */

const quote = JSON.stringify;

/**
 * The RFC 8785 text of each segment, in the order of `segmentNames`; `state` only if the event has
 * one. The field lists belong to entry version 1 and never change. Members are sorted by hand,
 * because this runs for every recorded and verified event. A verifier passes `id` and `timestamp`
 * as shown, so that they are checked too.
 */
export function segmentTexts(
  e: CommittedEvent,
  id = eventIdFromUuid(e.uuid),
  timestamp = formatTimestamp(uuidTimeMs(e.uuid)),
): string[] {
  const change = `{"diff":${e.diff},"reason":${quote(e.reason)}}`;
  const event =
    `{"action":${quote(e.action)},"actor":{"id":"${e.actorId}","role":${quote(e.actorRole)}},` +
    `"category":${quote(e.category)},"crossTenant":${e.crossTenant},"id":${quote(id)},` +
    `"recordedBy":{"id":"${e.recordedById}","kind":${quote(e.recordedByKind)}},` +
    `"resource":{"id":"${e.resourceId}","type":${quote(e.resourceType)}},` +
    `"tenantId":"${e.tenantId}","timestamp":${quote(timestamp)}}`;
  const identity =
    `{"actor":{"email":${quote(e.actorEmail)},"ip":${quote(e.actorIp)},` +
    `"userAgent":${quote(e.actorUserAgent)}},"resource":{"name":${quote(e.resourceName)}}}`;
  if (e.before === null && e.after === null) return [change, event, identity];
  return [change, event, identity, `{"after":${e.after ?? 'null'},"before":${e.before ?? 'null'}}`];
}

/**
 * The event as the API shows it. Diff and states are inserted as the texts that were hashed,
 * without parsing. `erased` lists the erased segments.
 */
export function eventText(
  e: StoredFields,
  withStates: boolean,
  hasState: boolean,
  erased: readonly SegmentName[] = [],
): string {
  const gone = erased.length > 0 ? `,"erased":${quote(erased)}` : '';
  const states = withStates ? `"before":${e.before ?? 'null'},"after":${e.after ?? 'null'},` : '';
  return (
    `{"id":"${eventIdFromUuid(e.uuid)}","timestamp":"${formatTimestamp(uuidTimeMs(e.uuid))}",` +
    `"tenantId":"${e.tenantId}","actor":{"id":"${e.actorId}","email":${quote(e.actorEmail)},` +
    `"role":${quote(e.actorRole)},"ip":${quote(e.actorIp)},"userAgent":${quote(e.actorUserAgent)}},` +
    `"action":"${e.action}","resource":{"type":"${e.resourceType}","id":"${e.resourceId}",` +
    `"name":${quote(e.resourceName)}},"diff":${e.diff},"crossTenant":${e.crossTenant},` +
    `"reason":${quote(e.reason)},${states}"category":"${e.category}","hasState":${hasState},` +
    `"sequence":${e.sequence},"receivedAt":"${formatTimestamp(e.receivedAtMs)}",` +
    `"recordedBy":{"kind":"${e.recordedByKind}","id":"${e.recordedById}"}${gone}}`
  );
}
