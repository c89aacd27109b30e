import { sha1 } from '@noble/hashes/legacy.js';
import { isUuid, uuidBytes, uuidFromBytes } from './event-id.ts';

const utf8 = new TextEncoder();

/**
 * The UUID of an actor or resource that its host names by an id of its own: UUIDv5 (RFC 9562,
 * section 5.5) with the tenant's id as namespace. `type` is `actor`, or the type of the resource.
 * An own id that is a UUID is that one: filters could not tell it from an id.
 */
export function externalUuid(tenantId: string, type: string, externalId: string): string {
  if (isUuid(externalId)) return externalId.toLowerCase();
  const name = utf8.encode(`${type}:${externalId}`);
  const bytes = new Uint8Array(16 + name.length);
  uuidBytes(tenantId, bytes);
  bytes.set(name, 16);
  const hash = sha1(bytes).subarray(0, 16);
  const view = new DataView(hash.buffer, hash.byteOffset, 16);
  view.setUint8(6, 0x50 | (view.getUint8(6) & 0x0f));
  view.setUint8(8, 0x80 | (view.getUint8(8) & 0x3f));
  return uuidFromBytes(hash);
}
