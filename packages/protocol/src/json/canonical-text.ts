import { jsonDepthMax } from './canonical.ts';

const quote = 0x22;
const comma = 0x2c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

// All characters except quote, backslash and those below U+0020. RFC 8785 escapes only these, each
// in one way.
const plain = String.raw`[ !#-[\]-\uffff]*`;
const escaped = String.raw`\\(?:["\\bfnrt]|u00(?:0[0-7bef]|1[0-9a-f]))`;
const stringToken = new RegExp(`"${plain}(?:${escaped}${plain})*"`, 'y');
// Names with escapes are excluded: they sort by their unescaped form.
const nameToken = new RegExp(`"${plain}":`, 'y');
const scalarToken = /true|false|null|-?\d[\d.e+-]*/y;

/**
 * The end of the object that begins at `start` of a well-formed text, if the text is exactly what
 * `canonicalize` would write; otherwise -1. Also -1 in rare cases: an escape in a name, nesting
 * over 32 levels. Use it only for texts of the size of a body line: millions of escapes in one
 * string throw RangeError.
 */
export function endOfCanonicalObject(text: string, start: number): number {
  return text.charCodeAt(start) === openBrace ? endOfObject(text, start, 1) : -1;
}

/** The same for an array. */
export function endOfCanonicalArray(text: string, start: number): number {
  return text.charCodeAt(start) === openBracket ? endOfArray(text, start, 1) : -1;
}

function endOfValue(text: string, start: number, depth: number): number {
  switch (text.charCodeAt(start)) {
    case quote:
      return endOfToken(stringToken, text, start);
    case openBrace:
      return endOfObject(text, start, depth + 1);
    case openBracket:
      return endOfArray(text, start, depth + 1);
    default:
      return endOfScalar(text, start);
  }
}

function endOfObject(text: string, start: number, depth: number): number {
  if (depth > jsonDepthMax) return -1;
  if (text.charCodeAt(start + 1) === closeBrace) return start + 2;
  let previous: string | null = null;
  let at = start;
  do {
    const value = endOfToken(nameToken, text, at + 1);
    if (value === -1) return -1;
    const name = text.slice(at + 2, value - 2);
    if (previous !== null && name <= previous) return -1; // out of order, or there twice
    previous = name;
    at = endOfValue(text, value, depth);
    if (at === -1) return -1;
  } while (text.charCodeAt(at) === comma);
  return text.charCodeAt(at) === closeBrace ? at + 1 : -1;
}

function endOfArray(text: string, start: number, depth: number): number {
  if (depth > jsonDepthMax) return -1;
  if (text.charCodeAt(start + 1) === closeBracket) return start + 2;
  let at = start;
  do {
    at = endOfValue(text, at + 1, depth);
    if (at === -1) return -1;
  } while (text.charCodeAt(at) === comma);
  return text.charCodeAt(at) === closeBracket ? at + 1 : -1;
}

function endOfScalar(text: string, start: number): number {
  const end = endOfToken(scalarToken, text, start);
  if (end === -1 || text.charCodeAt(start) > 0x39) return end; // a word, or nothing
  const number = text.slice(start, end);
  return String(Number(number)) === number ? end : -1;
}

function endOfToken(token: RegExp, text: string, start: number): number {
  token.lastIndex = start;
  return token.test(text) ? token.lastIndex : -1;
}
