import {
  batchEventsMax,
  eventBytesMax,
  fieldProblemsMax,
  parseStrictJson,
} from '@indelible/protocol';

/** The envelope of a batch, `{"events": […]}`, whose events are not parsed yet. */
export interface BatchEnvelope {
  /** The text of each event; undefined without `events`, null if it is no list. */
  events: Uint8Array[] | null | undefined;
  /** The names of all members, in their order. */
  names: string[];
}

const [quote, backslash, colon, comma] = [0x22, 0x5c, 0x3a, 0x2c];
const [openObject, closeObject, openList, closeList] = [0x7b, 0x7d, 0x5b, 0x5d];

/**
 * Splits the body of a batch. Reading ends at event 1,001: the list is then one longer than
 * allowed, because parsing 2.6 million `{}` would stop the event loop for seconds. Throws
 * SyntaxError for an envelope that is no JSON; the events themselves may still be none.
 */
export function splitBatch(bytes: Uint8Array): BatchEnvelope {
  const envelope: BatchEnvelope = { events: undefined, names: [] };
  let at = skipSpace(bytes, 0);
  if (bytes[at] !== openObject) {
    if (bytes.length <= eventBytesMax) parseStrictJson(bytes); // is it JSON at all?
    return envelope;
  }
  at = skipSpace(bytes, at + 1);
  if (bytes[at] === closeObject) return ended(bytes, at, envelope);
  while (true) {
    at = readMember(bytes, at, envelope);
    const isTooLong = envelope.names.length > fieldProblemsMax;
    if (isTooLong || (envelope.events?.length ?? 0) > batchEventsMax) return envelope;
    if (bytes[at] === closeObject) return ended(bytes, at, envelope);
    at = skipSpace(bytes, after(bytes, at, comma));
  }
}

function ended(bytes: Uint8Array, at: number, envelope: BatchEnvelope): BatchEnvelope {
  if (skipSpace(bytes, at + 1) < bytes.length) throw new SyntaxError('text behind the batch');
  return envelope;
}

/** Reads one member; returns the position of the comma or bracket behind it. */
function readMember(bytes: Uint8Array, start: number, envelope: BatchEnvelope): number {
  const close = endOfText(bytes, after(bytes, start, quote));
  const name = JSON.parse(new TextDecoder().decode(bytes.subarray(start, close + 1))) as string;
  envelope.names.push(name);
  const at = skipSpace(bytes, after(bytes, skipSpace(bytes, close + 1), colon));
  if (name !== 'events') return endOfValue(bytes, at);
  envelope.events = null;
  if (bytes[at] !== openList) return endOfValue(bytes, at);
  envelope.events = [];
  return skipSpace(bytes, readList(bytes, at, envelope.events));
}

/** Reads the elements of a list, 1,001 at most; returns the position behind it. */
function readList(bytes: Uint8Array, open: number, elements: Uint8Array[]): number {
  let at = skipSpace(bytes, open + 1);
  if (bytes[at] === closeList) return at + 1;
  while (true) {
    const end = endOfValue(bytes, at);
    elements.push(bytes.subarray(at, end));
    if (elements.length > batchEventsMax || bytes[end] === closeList) return end + 1;
    at = after(bytes, end, comma);
  }
}

/** The position of the comma or closing bracket behind a value. */
function endOfValue(bytes: Uint8Array, start: number): number {
  let depth = 0;
  for (let at = start; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === quote) at = endOfText(bytes, at + 1);
    else if (byte === openObject || byte === openList) depth += 1;
    else if (byte === closeObject || byte === closeList) {
      if (depth === 0) return at;
      depth -= 1;
    } else if (byte === comma && depth === 0) return at;
  }
  throw new SyntaxError('the batch breaks off');
}

/** The position of the quote that ends a text, which begins at `at`. */
function endOfText(bytes: Uint8Array, at: number): number {
  for (let close = at; close < bytes.length; close += 1) {
    if (bytes[close] === quote) return close;
    if (bytes[close] === backslash) close += 1;
  }
  throw new SyntaxError('a text breaks off');
}

/** The position behind `byte`, which must be at `at`. */
function after(bytes: Uint8Array, at: number, byte: number): number {
  if (bytes[at] !== byte) throw new SyntaxError(`no ${String.fromCharCode(byte)} at ${at}`);
  return at + 1;
}

function skipSpace(bytes: Uint8Array, start: number): number {
  let at = start;
  while (isSpace(bytes[at])) at += 1;
  return at;
}

const isSpace = (byte: number | undefined) =>
  byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
