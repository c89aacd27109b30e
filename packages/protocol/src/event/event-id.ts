/**
 * UUIDs as text, bytes and times (RFC 9562), and ids with a readable prefix: TypeID 0.3, a prefix
 * and a UUID as 26 characters of Crockford base32. An event's UUID is a UUIDv7 whose millisecond is
 * the event's timestamp. Tenants, actors and resources use the UUIDs of their own systems, so their
 * version is not checked.
 */

/** The largest time of a UUIDv7: 48 bits of milliseconds since 1970. */
export const uuidTimeMaxMs = 2 ** 48 - 1;

/* An event passes here a dozen times: tables take a third of a RegExp's time. */

const hexDigits = '0123456789abcdef';
// The tables are marked pure, so that a bundler can drop them from a program that only makes ids.
const valueOfHexCode = /* @__PURE__ */ Int8Array.from({ length: 128 }, (_, code) =>
  hexDigits.indexOf(String.fromCharCode(code).toLowerCase()),
);
const codeOfHex = /* @__PURE__ */ Uint8Array.from(hexDigits, (digit) => digit.charCodeAt(0));
const hyphen = 0x2d;

/** The value of the digit at this place of a UUID; negative if there is none. */
function hexAt(text: string, at: number): number {
  return valueOfHexCode[text.charCodeAt(at) & 127] ?? -1;
}

/** Whether `text` is a UUID of any version, in upper, lower or mixed case. */
export function isUuid(text: string): boolean {
  return readUuid(text, spare, 0);
}

const spare = new Uint8Array(16);

/** Writes the bytes of a UUID; false, with any bytes written, if `text` is none. */
function readUuid(text: string, target: Uint8Array, offset: number): boolean {
  if (text.length !== 36) return false;
  let wrong = 0; // gets a bit above the 7th, or the sign
  for (let index = 0, at = 0; index < 16; index++, at += 2) {
    if (index === 4 || index === 6 || index === 8 || index === 10) {
      wrong |= (text.charCodeAt(at++) ^ hyphen) << 8;
    }
    const byte = (hexAt(text, at) << 4) | hexAt(text, at + 1);
    wrong |= byte | (((text.charCodeAt(at) | text.charCodeAt(at + 1)) & ~127) << 8);
    target[offset + index] = byte;
  }
  return wrong >= 0 && wrong < 256;
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
  if (offset < 0 || offset + 16 > target.length) throw new RangeError('no room for a UUID');
  if (!readUuid(uuid, target, offset)) throw new RangeError('not a UUID');
  return target;
}

/** The lower-case UUID of the 16 bytes at `offset`. Throws RangeError when there are fewer. */
export function uuidFromBytes(bytes: Uint8Array, offset = 0): string {
  if (offset < 0 || offset + 16 > bytes.length) throw new RangeError('a UUID has 16 bytes');
  const group = (at: number) => {
    const [one = 0, two = 0] = [bytes[offset + at], bytes[offset + at + 1]];
    return String.fromCharCode(
      codeOfHex[one >> 4] ?? 0,
      codeOfHex[one & 15] ?? 0,
      codeOfHex[two >> 4] ?? 0,
      codeOfHex[two & 15] ?? 0,
    );
  };
  return `${group(0)}${group(2)}-${group(4)}-${group(6)}-${group(8)}-${group(10)}${group(12)}${group(14)}`;
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

const codeOfDigit = /* @__PURE__ */ Uint8Array.from(alphabet, (digit) => digit.charCodeAt(0));

/** `prefix`, with its underscore, and the base32 of `uuid`. RangeError if it is not a UUID. */
export function typeId(prefix: string, uuid: string): string {
  if (!readUuid(uuid, spare, 0)) throw new RangeError('not a UUID');
  // 26 characters hold 130 bits, so two zero bits come first: two digits for the first byte, then
  // eight for each five bytes.
  const [first = 0] = spare;
  const two = String.fromCharCode(codeOfDigit[first >> 5] ?? 0, codeOfDigit[first & 31] ?? 0);
  return `${prefix}${two}${eightDigits(1)}${eightDigits(6)}${eightDigits(11)}`;
}

/** The digits of five bytes of `spare`. */
function eightDigits(at: number): string {
  const high = ((spare[at] ?? 0) << 12) | ((spare[at + 1] ?? 0) << 4) | ((spare[at + 2] ?? 0) >> 4);
  const low =
    (((spare[at + 2] ?? 0) & 15) << 16) | ((spare[at + 3] ?? 0) << 8) | (spare[at + 4] ?? 0);
  return String.fromCharCode(
    codeOfDigit[high >> 15] ?? 0,
    codeOfDigit[(high >> 10) & 31] ?? 0,
    codeOfDigit[(high >> 5) & 31] ?? 0,
    codeOfDigit[high & 31] ?? 0,
    codeOfDigit[low >> 15] ?? 0,
    codeOfDigit[(low >> 10) & 31] ?? 0,
    codeOfDigit[(low >> 5) & 31] ?? 0,
    codeOfDigit[low & 31] ?? 0,
  );
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
  for (let at = 0; at < 8; at++) bytes[8 + at] = hash[at] ?? 0; // see `stamp` on views
  return uuidFromBytes(stamp(bytes, timeMs));
}

/** Writes time, version 7 and variant 10 over `bytes` and returns them. */
function stamp(bytes: Uint8Array, timeMs: number): Uint8Array {
  if (!Number.isInteger(timeMs) || timeMs < 0 || timeMs > uuidTimeMaxMs) {
    throw new RangeError('a UUIDv7 holds milliseconds from 0 to 2^48 - 1');
  }
  // Not through a DataView: that moves a small array out of the heap, which takes longer than this.
  const high = Math.floor(timeMs / 2 ** 24);
  const low = timeMs % 2 ** 24;
  for (let at = 0; at < 3; at++) {
    bytes[at] = high >> (16 - 8 * at);
    bytes[at + 3] = low >> (16 - 8 * at);
  }
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  return bytes;
}

/** The integer at the end of a source's event id, modulo 4,096 (`INC0000045#2` is 2), else 0. */
export function orderOfSourceId(sourceId: string): number {
  // 10^12 is a multiple of 4,096, so earlier digits do not change the result.
  const [digits] = /\d*$/.exec(sourceId.slice(-12)) ?? [];
  return Number(digits) % 4096;
}

/** RFC 9562, section 5.9: the id of an unknown actor. It sorts before all others. */
export const nilUuid = '00000000-0000-0000-0000-000000000000';
