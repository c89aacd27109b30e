/**
 * UUIDs as text, bytes and times (RFC 9562), and ids with a readable prefix: TypeID 0.3, a prefix
 * and a UUID as 26 characters of Crockford base32. An event's UUID is a UUIDv7 whose millisecond is
 * the event's timestamp. Tenants, actors and resources use the UUIDs of their own systems, so their
 * version is not checked.
 */

/** The largest time of a UUIDv7: 48 bits of milliseconds since 1970. */
export const uuidTimeMaxMs = 2 ** 48 - 1;

const uuidExpression = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
// The tables are marked pure, so that a bundler can drop them from a program that only makes ids.
const byteToHex = /* @__PURE__ */ Array.from({ length: 256 }, (_, byte) =>
  byte.toString(16).padStart(2, '0'),
);
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

// '0'-'9' are codes 48-57; the low four bits of 'A'-'F' and 'a'-'f' count from 1.
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

/** The first 48 bits: milliseconds since 1970 in a UUIDv7, no meaning in other versions. */
export function uuidTimeMs(uuid: string): number {
  return Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16);
}

/**
 * The smallest UUID of a millisecond, `tttttttt-tttt-0000-0000-000000000000`: the time range
 * `[from, to)` is the id range `[firstUuidAt(from), firstUuidAt(to))`. The time is limited to 48
 * bits, and a fraction of a millisecond is rounded up. Throws RangeError for NaN.
 */
export function firstUuidAt(timeMs: number): string {
  if (Number.isNaN(timeMs)) throw new RangeError('a moment in milliseconds is needed');
  const clamped = Math.min(Math.max(Math.ceil(timeMs), 0), uuidTimeMaxMs);
  const hex = clamped.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}

export const eventIdPrefix = 'evt_audit_';

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const suffixLength = 26;
const valueOfCode = /* @__PURE__ */ Int8Array.from({ length: 128 }, (_, code) =>
  alphabet.indexOf(String.fromCharCode(code)),
);

const digitPairs = /* @__PURE__ */ Array.from({ length: 1_024 }, (_, ten) => {
  return `${alphabet[ten >> 5]}${alphabet[ten & 31]}`;
});
/** The positions of the five-digit groups after the first two digits: hyphens lie between them. */
const fivesAt = [
  [2, 3, 4, 5, 6],
  [7, 9, 10, 11, 12],
  [14, 15, 16, 17, 19],
  [20, 21, 22, 24, 25],
  [26, 27, 28, 29, 30],
  [31, 32, 33, 34, 35],
] as const;

/** `prefix`, with its underscore, and the base32 of `uuid`. RangeError if it is not a UUID. */
export function typeId(prefix: string, uuid: string): string {
  if (!isUuid(uuid)) throw new RangeError('not a UUID');
  // 26 characters hold 130 bits, so two zero bits come first. Ten bits at a time, for speed: every
  // event that is shown or exported passes here.
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
 * The lower-case UUID of `id`. Null unless `id` is exactly `prefix` and 26 lower-case base32
 * characters of at most 128 bits. Upper case and Crockford's aliases (i, l, o) are refused: each id
 * has one spelling, so ids can be compared as text.
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

/** The id of the event with this UUID. RangeError if it is not a UUID. */
export function eventIdFromUuid(uuid: string): string {
  return typeId(eventIdPrefix, uuid);
}

/** The UUIDv7 of an event id; null for any other text. */
export function uuidFromEventId(id: string): string | null {
  const uuid = uuidFromTypeId(eventIdPrefix, id);
  return uuid !== null && hasVersion7(uuid) ? uuid : null;
}

function hasVersion7(uuid: string): boolean {
  return uuid.charAt(14) === '7' && '89abAB'.includes(uuid.charAt(19));
}

/**
 * A new event's UUIDv7 from `timeMs` (an integer of 48 bits) and 74 bits of ten random bytes.
 * Throws RangeError for an invalid time or fewer bytes.
 */
export function eventUuid(timeMs: number, random: Uint8Array): string {
  return uuidFromBytes(randomBytes(timeMs, random));
}

/** The id of a new event with `eventUuid`'s UUID, without its text: a fifth of the code. */
export function newEventIdAt(timeMs: number, random: Uint8Array): string {
  let id = eventIdPrefix;
  let pending = 0;
  // 26 characters hold 130 bits, so two zero bits come first.
  let pendingBits = 2;
  for (const byte of randomBytes(timeMs, random)) {
    pending = ((pending << 8) | byte) & 0xfff;
    for (pendingBits += 8; pendingBits >= 5; ) {
      pendingBits -= 5;
      id += alphabet[(pending >> pendingBits) & 31];
    }
  }
  return id;
}

function randomBytes(timeMs: number, random: Uint8Array): Uint8Array {
  if (random.length < 10) throw new RangeError('ten random bytes are needed');
  const bytes = new Uint8Array(16);
  bytes.set(random.subarray(0, 10), 6);
  return stamp(bytes, timeMs);
}

/**
 * An imported event's UUIDv7, the same at every run: 12 bits of `order` (modulo 4,096) keep the
 * source's order within a millisecond, and 62 bits of `hash` (at least 8 bytes, over tenant and
 * source id) make it unique. Throws RangeError like `eventUuid`.
 */
export function importedEventUuid(timeMs: number, order: number, hash: Uint8Array): string {
  if (hash.length < 8) throw new RangeError('eight bytes of hash are needed');
  if (!Number.isSafeInteger(order) || order < 0) throw new RangeError('order counts from 0');
  const bytes = new Uint8Array(16);
  bytes[6] = (order % 4096) >> 8;
  bytes[7] = order % 256;
  bytes.set(hash.subarray(0, 8), 8);
  return uuidFromBytes(stamp(bytes, timeMs));
}

/** Writes time, version 7 and variant 10 over `bytes` and returns them. */
function stamp(bytes: Uint8Array, timeMs: number): Uint8Array {
  if (!Number.isInteger(timeMs) || timeMs < 0 || timeMs > uuidTimeMaxMs) {
    throw new RangeError('a UUIDv7 holds milliseconds from 0 to 2^48 - 1');
  }
  const view = new DataView(bytes.buffer);
  view.setUint16(0, Math.floor(timeMs / 2 ** 32));
  view.setUint32(2, timeMs % 2 ** 32);
  view.setUint8(6, 0x70 | (view.getUint8(6) & 0x0f));
  view.setUint8(8, 0x80 | (view.getUint8(8) & 0x3f));
  return bytes;
}

/** The integer at the end of a source's event id, modulo 4,096 (`INC0000045#2` is 2), else 0. */
export function orderOfSourceId(sourceId: string): number {
  let start = sourceId.length;
  // 10^12 is a multiple of 4,096, so earlier digits do not change the result.
  while (start > 0 && sourceId.length - start < 12 && isDigit(sourceId.charCodeAt(start - 1))) {
    start--;
  }
  return Number(sourceId.slice(start)) % 4096;
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

/** RFC 9562, section 5.9: the id of an unknown actor. It sorts before all others. */
export const nilUuid = '00000000-0000-0000-0000-000000000000';
