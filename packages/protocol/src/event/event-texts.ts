import type { CommittedEvent, SegmentName, StoredFields } from './event-fields.ts';
import { eventIdFromUuid, uuidTimeMs } from './event-id.ts';
import { formatTimestamp } from './timestamp.ts';

/*
 * The two texts that are made of every event: what is hashed, and what
 * is shown. Straight code, not a loop over the table of fields, which
 * takes a third longer; `event-texts.test.ts` holds them to the table.
 */

const quote = JSON.stringify;

/**
 * The RFC 8785 text of each segment, in the order of `segmentNames`; `state` is there only when the
 * event carries one. The field lists belong to entry version 1 and never change. Members are
 * written in sorted order by hand: this runs for every event recorded and verified. A verifier
 * gives `id` and `timestamp` as they were shown, so that they are checked like everything else.
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
 * The event as the API shows it. Diff and states are spliced in as the very texts that were hashed,
 * so nothing is parsed and written again on the way out. `erased`: the segments that were.
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
