/*
 * Bytes as text, without Buffer, which browsers lack. Each value has exactly one spelling, so that
 * a proof cannot be changed without notice.
 */

const hexOfByte = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));
const valueOfHexDigit = valuesOf('0123456789abcdef');

/** Lower-case hexadecimal. */
export function formatHex(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += hexOfByte[byte];
  return text;
}

/** The bytes of lower-case hexadecimal. Null for upper case, spaces and odd lengths. */
export function parseHex(text: string): Uint8Array | null {
  if (text.length % 2 === 1) return null;
  const bytes = new Uint8Array(text.length / 2);
  for (let at = 0; at < bytes.length; at += 1) {
    const high = valueOfHexDigit[text.charCodeAt(2 * at)] ?? -1;
    const low = valueOfHexDigit[text.charCodeAt(2 * at + 1)] ?? -1;
    if (high < 0 || low < 0) return null;
    bytes[at] = (high << 4) | low;
  }
  return bytes;
}

const base64Digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const valueOfBase64Digit = valuesOf(base64Digits);

/** Standard base64 with padding (RFC 4648 section 4). */
export function formatBase64(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += 3) {
    const rest = bytes.length - at;
    const bits = ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
    text += base64Digits.charAt(bits >> 18) + base64Digits.charAt((bits >> 12) & 63);
    text += rest > 1 ? base64Digits.charAt((bits >> 6) & 63) : '=';
    text += rest > 2 ? base64Digits.charAt(bits & 63) : '=';
  }
  return text;
}

/**
 * The bytes of standard base64, or null. Padding is required, and unused bits must be zero; `atob`
 * also accepts other texts.
 */
export function parseBase64(text: string): Uint8Array | null {
  if (text.length % 4 !== 0) return null;
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  const digits = text.length - padding;
  const bytes = new Uint8Array((text.length / 4) * 3 - padding);
  let bits = 0;
  let pending = 0;
  let at = 0;
  for (let index = 0; index < digits; index += 1) {
    const value = valueOfBase64Digit[text.charCodeAt(index)] ?? -1;
    if (value < 0) return null;
    bits = ((bits << 6) | value) & 0xffff;
    pending += 6;
    if (pending < 8) continue;
    pending -= 8;
    bytes[at++] = bits >> pending;
  }
  return (bits & ((1 << pending) - 1)) === 0 ? bytes : null;
}

function valuesOf(digits: string): Int8Array {
  const values = new Int8Array(128).fill(-1);
  for (let value = 0; value < digits.length; value += 1) values[digits.charCodeAt(value)] = value;
  return values;
}

/** Whether both hold the same bytes. Not constant-time: for public values only. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let at = 0; at < a.length; at += 1) if (a[at] !== b[at]) return false;
  return true;
}

const utf8Encoder = new TextEncoder();
// Keeps a byte order mark, so that the parsers refuse it.
const utf8Decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The bytes of well-formed text. FormatError for a lone surrogate; `what` names the text in it. */
export function encodeUtf8(text: string, what: string): Uint8Array {
  if (!text.isWellFormed()) throw new FormatError(`${what} is not well-formed Unicode`);
  return utf8Encoder.encode(text);
}

/** The text of bytes or of well-formed text. FormatError, naming `what`, if it is not UTF-8. */
export function decodeUtf8(source: string | Uint8Array, what: string): string {
  if (typeof source === 'string') {
    if (!source.isWellFormed()) throw new FormatError(`${what} is not well-formed Unicode`);
    return source;
  }
  try {
    return utf8Decoder.decode(source);
  } catch {
    throw new FormatError(`${what} is not UTF-8`);
  }
}

/**
 * The text is not of the stated format. The message names the wrong part. Parsers of notes, proofs,
 * tiles and body lines throw only this error, whatever the input.
 */
export class FormatError extends RangeError {
  override name = 'FormatError';
}

/** What `read` returns; null for malformed input, of which `report` is told. */
export function readOrNull<T>(
  read: () => T,
  report: (error: FormatError) => void = () => {},
): T | null {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    report(error);
    return null;
  }
}
