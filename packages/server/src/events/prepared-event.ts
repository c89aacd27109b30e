import {
  type CommittedEvent,
  commitmentOf,
  eventIdFromUuid,
  formatTimestamp,
  type Sha256,
  saltBytes,
  segmentTexts,
  uuidTimeMs,
} from '@indelible/protocol';

/** An event ready to be appended: canonical columns, and the commitment the log will hold. */
export interface PreparedEvent extends CommittedEvent {
  actorEmailKey: string;
  texts: string[];
  salts: Uint8Array;
  commitment: Uint8Array;
  /** Approximate size in memory, for the bound of the queue. */
  bytes: number;
}

/** An event as it lies in the table. */
export interface StoredEvent extends CommittedEvent {
  sequence: number;
  receivedAtMs: number;
  salts: Uint8Array;
}

/** Draws `bytes` random bytes. */
export type Random = (bytes: number) => Uint8Array;

export function prepare(event: CommittedEvent, sha: Sha256, random: Random): PreparedEvent {
  const texts = segmentTexts(event);
  const salts = random(saltBytes * texts.length);
  return {
    ...event,
    actorEmailKey: (event.actorEmail ?? '').toLowerCase(),
    texts,
    salts,
    commitment: commitmentOf(sha, texts, salts),
    bytes: 512 + 2 * texts.reduce((sum, text) => sum + text.length, 0),
  };
}

/**
 * Whether a producer sent the same content again. Who recorded it and its category are the service's
 * own words (a rotated key, an extended catalogue), so the stored ones stand in for both.
 */
export function sameContent(sent: PreparedEvent, stored: CommittedEvent): boolean {
  const { category, recordedByKind, recordedById } = stored;
  const again = segmentTexts({ ...sent, category, recordedByKind, recordedById });
  return segmentTexts(stored).join('\n') === again.join('\n');
}

const quote = JSON.stringify;

/**
 * The event as the API shows it. Diff and states are spliced in as the very texts that were hashed, so
 * nothing is parsed and written again on the way out.
 */
export function eventJson(
  e: Omit<StoredEvent, 'salts'>,
  withStates: boolean,
  hasState: boolean,
): string {
  const states = withStates ? `"before":${e.before ?? 'null'},"after":${e.after ?? 'null'},` : '';
  return (
    `{"id":"${eventIdFromUuid(e.uuid)}","timestamp":"${formatTimestamp(uuidTimeMs(e.uuid))}",` +
    `"tenantId":"${e.tenantId}","actor":{"id":"${e.actorId}","email":${quote(e.actorEmail)},` +
    `"role":${quote(e.actorRole)},"ip":${quote(e.actorIp)},"userAgent":${quote(e.actorUserAgent)}},` +
    `"action":"${e.action}","resource":{"type":"${e.resourceType}","id":"${e.resourceId}",` +
    `"name":${quote(e.resourceName)}},"diff":${e.diff},"crossTenant":${e.crossTenant},` +
    `"reason":${quote(e.reason)},${states}"category":"${e.category}","hasState":${hasState},` +
    `"sequence":${e.sequence},"receivedAt":"${formatTimestamp(e.receivedAtMs)}",` +
    `"recordedBy":{"kind":"${e.recordedByKind}","id":"${e.recordedById}"}}`
  );
}
