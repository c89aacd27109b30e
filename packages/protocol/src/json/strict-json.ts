import { readJson, type StrictJson } from './json-reader.ts';
import { keepsValue } from './number-text.ts';

export type { StrictJson } from './json-reader.ts';

/** The deepest nesting of a text: far more than any event has, and fast to read. */
const jsonTextDepthMax = 200;

const utf8Encoder = new TextEncoder();
const utf8Decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * JSON.parse for text that will be proven. JSON.parse silently keeps the last of repeated member
 * names, so two readers of one text could see different events. This function reports them:
 * `duplicateKeys` has the JSON Pointers of the first 50. A number that a double would change is
 * kept as its text, and `numbersAsText` has its pointer. Throws SyntaxError like JSON.parse, and
 * for nesting deeper than `jsonTextDepthMax`; TypeError for bytes that are not UTF-8.
 */
export function parseStrictJson(source: string | Uint8Array): StrictJson {
  const isText = typeof source === 'string';
  const members = countPlainMembers(isText ? utf8Encoder.encode(source) : source);
  const text = isText ? source : utf8Decoder.decode(source);
  const value: unknown = JSON.parse(text);
  // The text has a duplicate twice, the result once: equal counts prove that there is none.
  if (members === countKeptMembers(value)) return { value, duplicateKeys: [], numbersAsText: [] };
  return readJson(text);
}

const quote = 0x22;
const colon = 0x3a;
const backslash = 0x5c;

/**
 * Counts the colons outside strings, one for each member; null if a number must be kept as text, or
 * if a name has an escape. V8 (Node 24
 * and 26) returns a wrong name then, if an earlier text had a name with a backslash at that
 * position: https://github.com/nodejs/node/issues/63785
 * It reads bytes, because indexOf and charCodeAt are thirty times slower on the strings of large
 * buffers. It checks the depth, because JSON.parse needs seconds for 8 MiB of `[`.
 */
function countPlainMembers(bytes: Uint8Array): number | null {
  let members = 0;
  let depth = 0;
  let hasEscape = false; // in the string that was read last
  let escapedName = false;
  let changes = false; // whether a double would change a number
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === quote) {
      hasEscape = false;
      // Most bytes are in strings; this inner loop halves the time.
      for (at += 1; at < bytes.length && bytes[at] !== quote; at += 1) {
        if (bytes[at] !== backslash) continue;
        hasEscape = true;
        at += 1;
      }
    } else if (byte === colon) {
      members += 1;
      escapedName ||= hasEscape;
    } else if (byte === 0x7b || byte === 0x5b) {
      depth += 1;
      if (depth > jsonTextDepthMax) throw new SyntaxError('nested too deeply');
    } else if (byte === 0x7d || byte === 0x5d) depth -= 1;
    else if (byte === minus || isDigit(byte)) {
      const start = at;
      while (isNumeric(bytes[at + 1])) at += 1;
      changes ||= mayChange(bytes, start, at + 1);
    }
  }
  return escapedName || changes ? null : members;
}

const minus = 0x2d;

const isDigit = (byte: number | undefined) => byte !== undefined && byte >= 0x30 && byte <= 0x39;

/** Whether a byte may stand in a number: a digit, sign, point or exponent. */
const isNumeric = (byte: number | undefined) =>
  isDigit(byte) || byte === 0x2e || byte === minus || byte === 0x2b || isExponent(byte);

const isExponent = (byte: number | undefined) => byte === 0x65 || byte === 0x45;

/** A double holds any number of 15 digits with a small exponent; others are compared. */
function mayChange(bytes: Uint8Array, start: number, end: number): boolean {
  if (end - start > 100) return true;
  let [at, digits] = [start, 0];
  for (; at < end && !isExponent(bytes[at]); at += 1) {
    if (isDigit(bytes[at]) && (digits > 0 || bytes[at] !== 0x30)) digits += 1;
  }
  if (digits <= 15 && at === end) return false;
  const exponent = Number(asciiText(bytes, at + 1, end));
  const isSmall = exponent > -100 && digits + exponent <= 15;
  return (digits > 15 || !isSmall) && !keepsValue(asciiText(bytes, start, end));
}

// A TextDecoder takes longer for so few characters.
function asciiText(bytes: Uint8Array, start: number, end: number): string {
  let text = '';
  for (let at = start; at < end; at += 1) text += String.fromCharCode(bytes[at] ?? 0);
  return text;
}

/** Counts the members of the parsed tree, whose depth was checked before. */
function countKeptMembers(value: unknown): number {
  if (!isContainer(value)) return 0;
  let members = 0;
  if (Array.isArray(value)) {
    for (const element of value) if (isContainer(element)) members += countKeptMembers(element);
    return members;
  }
  for (const key in value) {
    members += 1;
    const member = (value as Record<string, unknown>)[key];
    if (isContainer(member)) members += countKeptMembers(member);
  }
  return members;
}

/** Whether it is an object, and not a list. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return isContainer(value) && !Array.isArray(value);
}

/** Whether it is a whole number from 0: a count, a size or a sequence. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
