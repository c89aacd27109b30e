import { contextPieces, identityText } from './context.ts';
import type { CommittedEvent, SegmentName, StoredFields } from './event-fields.ts';
import { eventIdFromUuid, uuidTimeMs } from './event-id.ts';
import { formatTimestamp } from './timestamp.ts';

/*
 * The two texts made of every event: the hashed one and the shown one. Written out instead of a
 * loop over the field table, which takes a third longer; `event-texts.test.ts` compares them with
 * the table.
 */

const quote: (text: string | readonly string[] | null) => string = JSON.stringify;

/**
 * The RFC 8785 text of each segment, in the order of `segmentNames`; null for a segment that the
 * event does not have. The field lists belong to the versions of log entries and never change.
 * Members are sorted by hand, because this runs for every recorded and verified event. A verifier
 * passes `id` and `timestamp` as shown, so that they are checked too.
 */
export function segmentTexts(
  e: CommittedEvent,
  id = eventIdFromUuid(e.uuid),
  timestamp = formatTimestamp(uuidTimeMs(e.uuid)),
): (string | null)[] {
  const change = `{"diff":${e.diff},"reason":${quote(e.reason)}}`;
  const event =
    `{"action":${quote(e.action)},"actor":{"id":"${e.actorId}","role":${quote(e.actorRole)}},` +
    `"category":${quote(e.category)},"crossTenant":${e.crossTenant},"id":${quote(id)},` +
    `"recordedBy":{"id":"${e.recordedById}","kind":${quote(e.recordedByKind)}},` +
    `"resource":{"id":"${e.resourceId}","type":${quote(e.resourceType)}},` +
    `"tenantId":"${e.tenantId}","timestamp":${quote(timestamp)}}`;
  const identity =
    e.contextIdentity === null
      ? `{"actor":{"email":${quote(e.actorEmail)},"ip":${quote(e.actorIp)},` +
        `"userAgent":${quote(e.actorUserAgent)}},"resource":{"name":${quote(e.resourceName)}}}`
      : identityText(e);
  const state =
    e.before === null && e.after === null
      ? null
      : `{"after":${e.after ?? 'null'},"before":${e.before ?? 'null'}}`;
  return [change, e.context, event, identity, state];
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
  const later = contextPieces(e);
  const states = withStates ? `"before":${e.before ?? 'null'},"after":${e.after ?? 'null'},` : '';
  return (
    `{"id":"${eventIdFromUuid(e.uuid)}","timestamp":"${formatTimestamp(uuidTimeMs(e.uuid))}",` +
    `"tenantId":"${e.tenantId}","actor":{"id":"${e.actorId}","email":${quote(e.actorEmail)},` +
    `"role":${quote(e.actorRole)},"ip":${quote(e.actorIp)},` +
    `"userAgent":${quote(e.actorUserAgent)}${later.ofActor}},"action":"${e.action}"${later.ofAction},` +
    `"resource":{"type":"${e.resourceType}","id":"${e.resourceId}",` +
    `"name":${quote(e.resourceName)}${later.ofResource}},"diff":${e.diff},` +
    `"crossTenant":${e.crossTenant},"reason":${quote(e.reason)}${later.others},${states}"category":"${e.category}","hasState":${hasState},` +
    `"sequence":${e.sequence},"receivedAt":"${formatTimestamp(e.receivedAtMs)}",` +
    `"recordedBy":{"kind":"${e.recordedByKind}","id":"${e.recordedById}"}${gone}}`
  );
}
