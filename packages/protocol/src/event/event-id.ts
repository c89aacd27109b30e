/**
 * UUIDs as text, bytes and moments (RFC 9562), and identifiers with a readable prefix: TypeID 0.3,
 * a prefix and 26 characters of Crockford base32 of a UUID. An event's UUID is a UUIDv7 whose
 * millisecond is the event's timestamp; tenants, actors and resources carry whatever UUIDs their
 * own systems made, so that their version is never checked.
 */

/** The largest moment that a UUIDv7 can carry: 48 bits of milliseconds since 1970. */
export const uuidTimeMaxMs = 2 ** 48 - 1;

const uuidExpression = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const byteToHex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));
const digitPairsAt = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34] as const;

/** Whether `text` is a UUID of any version, in upper, lower or mixed case. */
export function isUuid(text: string): boolean {
  return text.length === 36 && uuidExpression.test(text);
}

/**
 * The 16 bytes of `uuid`, written into `target` at `offset` when given. Returns the array written
 * to. Throws RangeError when `uuid` is not a UUID or the target is too short.
 */
export function uuidBytes(
  uuid: string,
  target: Uint8Array = new Uint8Array(16),
  offset = 0,
): Uint8Array {
  if (!isUuid(uuid)) throw new RangeError('not a UUID');
  if (offset < 0 || offset + 16 > target.length) throw new RangeError('no room for a UUID');
  let at = offset;
  for (const pair of digitPairsAt) {
    target[at++] = (hexDigit(uuid.charCodeAt(pair)) << 4) | hexDigit(uuid.charCodeAt(pair + 1));
  }
  return target;
}

// '0'-'9' are 48-57; of 'A'-'F' (65-70) and 'a'-'f' (97-102) the low four bits count from 1.
function hexDigit(code: number): number {
  return code < 58 ? code - 48 : (code & 15) + 9;
}

/** The lower-case UUID of the 16 bytes at `offset`. Throws RangeError when there are fewer. */
export function uuidFromBytes(bytes: Uint8Array, offset = 0): string {
  if (offset < 0 || offset + 16 > bytes.length) throw new RangeError('a UUID has 16 bytes');
  let text = '';
  for (let index = 0; index < 16; index++) {
    if (index === 4 || index === 6 || index === 8 || index === 10) text += '-';
    text += byteToHex[bytes[offset + index] ?? 0];
  }
  return text;
}

/** Milliseconds since 1970 in the first 48 bits: the moment of a UUIDv7, noise in any other. */
export function uuidTimeMs(uuid: string): number {
  return Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16);
}

/**
 * The smallest UUID value of a millisecond, `tttttttt-tttt-0000-0000-000000000000`: a time range
 * `[from, to)` is the id range `[firstUuidAt(from), firstUuidAt(to))`. As a bound it is clamped to
 * what 48 bits hold, and a fraction of a millisecond is rounded up. Throws RangeError for NaN.
 */
export function firstUuidAt(timeMs: number): string {
  if (Number.isNaN(timeMs)) throw new RangeError('a moment in milliseconds is needed');
  const clamped = Math.min(Math.max(Math.ceil(timeMs), 0), uuidTimeMaxMs);
  const hex = clamped.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}

/** What every audit event's id begins with. */
export const eventIdPrefix = 'evt_audit_';

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const suffixLength = 26;
// Marked pure: a bundle that only makes ids leaves out what reads them.
const valueOfCode = /* @__PURE__ */ Int8Array.from({ length: 128 }, (_, code) =>
  alphabet.indexOf(String.fromCharCode(code)),
);

const digitPairs = Array.from({ length: 1_024 }, (_, ten) => {
  return `${alphabet[ten >> 5]}${alphabet[ten & 31]}`;
});
/**
 * Where the five hexadecimal digits behind the first
 * two begin, each time as many: hyphens go between.
 */
const fivesAt = [
  [2, 3, 4, 5, 6],
  [7, 9, 10, 11, 12],
  [14, 15, 16, 17, 19],
  [20, 21, 22, 24, 25],
  [26, 27, 28, 29, 30],
  [31, 32, 33, 34, 35],
] as const;

/** `prefix` (with its closing underscore) and the base32 of `uuid`. Throws RangeError: no UUID. */
export function typeId(prefix: string, uuid: string): string {
  if (!isUuid(uuid)) throw new RangeError('not a UUID');
  // 26 characters hold 130 bits: the number is led by two zero bits. Ten bits at a time, because
  // every event that is shown or exported passes here.
  const digit = (at: number) => hexDigit(uuid.charCodeAt(at));
  let id = prefix + digitPairs[(digit(0) << 4) | digit(1)];
  for (const [a, b, c, d, e] of fivesAt) {
    const twenty =
      (digit(a) << 16) | (digit(b) << 12) | (digit(c) << 8) | (digit(d) << 4) | digit(e);
    id += `${digitPairs[twenty >> 10]}${digitPairs[twenty & 1_023]}`;
  }
  return id;
}

/**
 * The lower-case UUID behind `id`, or null when it is not exactly `prefix` and 26 lower-case base32
 * characters within 128 bits. Upper case and the letters that Crockford forgives (i, l, o) are
 * refused: one identifier has one spelling, so that comparing text is comparing identifiers.
 */
export function uuidFromTypeId(prefix: string, id: string): string | null {
  if (id.length !== prefix.length + suffixLength || !id.startsWith(prefix)) return null;
  const bytes = new Uint8Array(16);
  let at = 0;
  let pending = 0;
  let pendingBits = -2;
  for (let index = prefix.length; index < id.length; index++) {
    const value = valueOfCode[id.charCodeAt(index)] ?? -1;
    if (value < 0 || (index === prefix.length && value > 7)) return null;
    pending = ((pending << 5) | value) & 0xfff;
    pendingBits += 5;
    if (pendingBits < 8) continue;
    pendingBits -= 8;
    bytes[at++] = (pending >> pendingBits) & 0xff;
  }
  return uuidFromBytes(bytes);
}

/** The id of the event stored under `uuid`. Throws RangeError when that is not a UUID. */
export function eventIdFromUuid(uuid: string): string {
  return typeId(eventIdPrefix, uuid);
}

/** The UUIDv7 of an event id, or null for any text that is not exactly one. */
export function uuidFromEventId(id: string): string | null {
  const uuid = uuidFromTypeId(eventIdPrefix, id);
  return uuid !== null && isUuidV7(uuid) ? uuid : null;
}

/** Whether `uuid` is version 7 of the RFC 9562 variant, the only kind an event may have. */
export function isUuidV7(uuid: string): boolean {
  return isUuid(uuid) && uuid.charAt(14) === '7' && '89abAB'.includes(uuid.charAt(19));
}

/**
 * A new event's UUIDv7: `timeMs` (an integer of 48 bits) and 74 bits out of ten random bytes.
 * Throws RangeError for a time that does not fit or fewer bytes.
 */
export function eventUuid(timeMs: number, random: Uint8Array): string {
  if (random.length < 10) throw new RangeError('ten random bytes are needed');
  const bytes = new Uint8Array(16);
  bytes.set(random.subarray(0, 10), 6);
  return stamp(bytes, timeMs);
}

/**
 * An imported event's UUIDv7, the same at every run: 12 bits of `order` (modulo 4,096) keep the
 * source's order inside a millisecond, and 62 bits of `hash` (at least 8 bytes, taken from the
 * tenant and the source's id) tell its events apart. Throws RangeError as `eventUuid` does.
 */
export function importedEventUuid(timeMs: number, order: number, hash: Uint8Array): string {
  if (hash.length < 8) throw new RangeError('eight bytes of hash are needed');
  if (!Number.isSafeInteger(order) || order < 0) throw new RangeError('order counts from 0');
  const bytes = new Uint8Array(16);
  bytes[6] = (order % 4096) >> 8;
  bytes[7] = order % 256;
  bytes.set(hash.subarray(0, 8), 8);
  return stamp(bytes, timeMs);
}

/** Writes time, version 7 and variant 10 over `bytes` and returns the UUID. */
function stamp(bytes: Uint8Array, timeMs: number): string {
  if (!Number.isInteger(timeMs) || timeMs < 0 || timeMs > uuidTimeMaxMs) {
    throw new RangeError('a UUIDv7 holds milliseconds from 0 to 2^48 - 1');
  }
  const view = new DataView(bytes.buffer);
  view.setUint16(0, Math.floor(timeMs / 2 ** 32));
  view.setUint32(2, timeMs % 2 ** 32);
  view.setUint8(6, 0x70 | (view.getUint8(6) & 0x0f));
  view.setUint8(8, 0x80 | (view.getUint8(8) & 0x3f));
  return uuidFromBytes(bytes);
}

/** The integer that ends a source's event id, modulo 4,096 (`INC0000045#2` is 2); 0 without one. */
export function orderOfSourceId(sourceId: string): number {
  let start = sourceId.length;
  // 10^12 is a multiple of 4,096, so that digits before the last twelve cannot change the answer.
  while (start > 0 && sourceId.length - start < 12 && isDigit(sourceId.charCodeAt(start - 1))) {
    start--;
  }
  return Number(sourceId.slice(start)) % 4096;
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

/** RFC 9562, section 5.9: the id of whoever is not known, and before all others. */
export const nilUuid = '00000000-0000-0000-0000-000000000000';
