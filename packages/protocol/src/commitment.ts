import { eventIdFromUuid, uuidTimeMs } from './event-id.ts';
import type { Sha256 } from './merkle.ts';
import { formatTimestamp } from './timestamp.ts';

/**
 * What the log commits to: the stored columns of an event. `diff`, `before` and `after` are RFC 8785
 * texts, made once when the event was taken; ids are lower-case UUIDs.
 */
export interface CommittedEvent {
  tenantId: string;
  uuid: string;
  actorId: string;
  actorEmail: string | null;
  actorRole: string;
  actorIp: string | null;
  actorUserAgent: string | null;
  action: string;
  resourceType: string;
  resourceId: string;
  resourceName: string | null;
  diff: string;
  crossTenant: boolean;
  reason: string | null;
  category: string;
  recordedByKind: string;
  recordedById: string;
  before: string | null;
  after: string | null;
}

/** Segment names in ASCII order: the order of hashing, and of the 16-byte salts of an event. */
export const segmentNames = ['change', 'event', 'identity', 'state'] as const;
export type SegmentName = (typeof segmentNames)[number];
export const saltBytes = 16;

const quote = JSON.stringify;

/**
 * The RFC 8785 text of each segment, in the order of `segmentNames`; `state` is there only when the
 * event carries one. The field lists belong to entry version 1 and never change. Members are
 * written in sorted order by hand: this runs for every event recorded and verified.
 */
export function segmentTexts(e: CommittedEvent): string[] {
  const change = `{"diff":${e.diff},"reason":${quote(e.reason)}}`;
  const event =
    `{"action":${quote(e.action)},"actor":{"id":"${e.actorId}","role":${quote(e.actorRole)}},` +
    `"category":${quote(e.category)},"crossTenant":${e.crossTenant},"id":"${eventIdFromUuid(e.uuid)}",` +
    `"recordedBy":{"id":"${e.recordedById}","kind":${quote(e.recordedByKind)}},` +
    `"resource":{"id":"${e.resourceId}","type":${quote(e.resourceType)}},` +
    `"tenantId":"${e.tenantId}","timestamp":"${formatTimestamp(uuidTimeMs(e.uuid))}"}`;
  const identity =
    `{"actor":{"email":${quote(e.actorEmail)},"ip":${quote(e.actorIp)},` +
    `"userAgent":${quote(e.actorUserAgent)}},"resource":{"name":${quote(e.resourceName)}}}`;
  if (e.before === null && e.after === null) return [change, event, identity];
  return [change, event, identity, `{"after":${e.after ?? 'null'},"before":${e.before ?? 'null'}}`];
}

const utf8 = new TextEncoder();
const segmentPrefixes = segmentNames.map((name) =>
  utf8.encode(`audit-seg/v1\n${String.fromCharCode(name.length)}${name}`),
);
const contentPrefix = utf8.encode('audit-content/v1\n');
const namePrefixes = segmentNames.map((name) =>
  utf8.encode(`${String.fromCharCode(name.length)}${name}`),
);

/** `H("audit-seg/v1\n" ‖ u8 len ‖ name ‖ salt ‖ text)` of the segment at this place of `segmentNames`. */
export function segmentHash(
  sha: Sha256,
  index: number,
  salt: Uint8Array,
  text: string,
): Uint8Array {
  const prefix = segmentPrefixes[index];
  if (!prefix) throw new RangeError('no such segment');
  const head = prefix.length + salt.length;
  // UTF-8 takes at most three bytes a UTF-16 unit; what is not used is cut off below.
  const bytes = new Uint8Array(head + text.length * 3);
  bytes.set(prefix);
  bytes.set(salt, prefix.length);
  const { written } = utf8.encodeInto(text, bytes.subarray(head));
  return sha(bytes.subarray(0, head + written));
}

/**
 * `H("audit-content/v1\n" ‖ Σ(u8 len ‖ name ‖ c))`: binds the segment hashes, so that one segment can
 * be withheld or erased (its hash given instead) and the log still verifies.
 */
export function commitmentOfHashes(sha: Sha256, hashes: readonly Uint8Array[]): Uint8Array {
  const parts: Uint8Array[] = [contentPrefix];
  hashes.forEach((hash, index) => {
    const name = namePrefixes[index];
    if (!name) throw new RangeError('no such segment');
    parts.push(name, hash);
  });
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    bytes.set(part, offset);
    offset += part.length;
  }
  return sha(bytes);
}

/** The commitment of an event whose salts are one run of 16 bytes a segment. */
export function commitmentOf(sha: Sha256, texts: readonly string[], salts: Uint8Array): Uint8Array {
  const hashes = texts.map((text, index) =>
    segmentHash(sha, index, salts.subarray(index * saltBytes, (index + 1) * saltBytes), text),
  );
  return commitmentOfHashes(sha, hashes);
}
