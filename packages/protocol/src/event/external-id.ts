import { sha1 } from '@noble/hashes/legacy.js';
import { isUuid, uuidBytes, uuidFromBytes } from './event-id.ts';
import { isExternalId, isLonger } from './field-rules.ts';
import { externalIdLengthMax } from './limits.ts';

const utf8 = new TextEncoder();

/**
 * The UUID of an actor or resource that its host names by an id of its own: UUIDv5 (RFC 9562,
 * section 5.5) with the tenant's id as namespace. `type` is `actor`, or the type of the resource.
 * An own id that is a UUID is that one: filters could not tell it from an id. Two own ids that are
 * equal in NFC are one.
 */
export function externalUuid(tenantId: string, type: string, externalId: string): string {
  if (isUuid(externalId)) return externalId.toLowerCase();
  return uuidV5(tenantId, `${type}:${externalId.normalize('NFC')}`);
}

/** RFC 9562, section 6.6: the namespace of URLs. The docs publish it, so hosts can derive ids. */
const tenantNamespace = '6ba7b811-9dad-11d1-80b4-00c04fd430c8';

/**
 * The UUID of the tenant that `name` names: a UUID itself, in lower case, or the host's own id, of
 * at most 200 visible characters. Null for any other text.
 */
export function tenantUuid(name: string): string | null {
  if (isUuid(name)) return name.toLowerCase();
  if (!isOwnId(name)) return null;
  return uuidV5(tenantNamespace, `indelible:tenant:${name.normalize('NFC')}`);
}

/** Whether the host may name something so: a UUID, or at most 200 visible characters. */
export function isOwnId(text: string): boolean {
  return !isLonger(text, externalIdLengthMax) && isExternalId(text);
}

/** The own id that answers show beside the UUID; null for a UUID, which has none. */
export function ownIdOf(name: string): string | null {
  return isUuid(name) ? null : name;
}

function uuidV5(namespace: string, text: string): string {
  const name = utf8.encode(text);
  const bytes = new Uint8Array(16 + name.length);
  uuidBytes(namespace, bytes);
  bytes.set(name, 16);
  const hash = sha1(bytes).subarray(0, 16);
  const view = new DataView(hash.buffer, hash.byteOffset, 16);
  view.setUint8(6, 0x50 | (view.getUint8(6) & 0x0f));
  view.setUint8(8, 0x80 | (view.getUint8(8) & 0x3f));
  return uuidFromBytes(hash);
}
