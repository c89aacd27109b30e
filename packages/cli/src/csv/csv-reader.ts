import { createReadStream } from 'node:fs';
import { sentenceOf, UsageError } from '../io.ts';

/** A record of a CSV file (RFC 4180); quoted cells may contain line breaks. */
export interface CsvRecord {
  /** From 1; the header is number 1. */
  number: number;
  /** All bytes, including the final line break, if any. */
  bytes: Buffer;
  /** Null if quotes are misplaced or the text is not UTF-8. */
  cells: string[] | null;
}

const quote = 0x22;
const lineFeed = 0x0a;
/** More than any event needs; limits memory for a file without line breaks. */
const recordBytesMax = 8 * 2 ** 20;

/**
 * The records of a file, in order. A record that is too long is cut and invalid. Throws UsageError
 * if the file cannot be read.
 */
export async function* csvRecords(path: string): AsyncGenerator<CsvRecord, void, undefined> {
  let rest: Buffer = Buffer.alloc(0);
  let scanned = 0;
  let inQuotes = false;
  let number = 0;
  for await (const chunk of chunksOf(path)) {
    const data = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let start = 0;
    for (let at = scanned; at < data.length; at += 1) {
      const byte = data[at];
      // An escaped quote is two quotes: the state changes twice.
      if (byte === quote) inQuotes = !inQuotes;
      else if (byte === lineFeed && !inQuotes) {
        number += 1;
        yield recordOf(number, data.subarray(start, at + 1));
        start = at + 1;
      }
    }
    rest = data.subarray(start);
    scanned = rest.length;
    if (scanned > recordBytesMax) break;
  }
  if (rest.length > 0) yield recordOf(number + 1, rest);
}

async function* chunksOf(path: string): AsyncGenerator<Buffer, void, undefined> {
  try {
    yield* createReadStream(path, { highWaterMark: 1 << 20 });
  } catch (error) {
    throw new UsageError(`${path} cannot be read: ${sentenceOf(error)}`);
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function recordOf(number: number, bytes: Buffer): CsvRecord {
  try {
    return { number, bytes, cells: cellsOf(decoder.decode(bytes).replace(/\r?\n$/, '')) };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return { number, bytes, cells: null };
  }
}

const cell = /"([^"]*(?:""[^"]*)*)"(?=,|$)|([^",\r\n]*)(?=,|$)/y;

/** The cells of a record without its line break; null if it violates RFC 4180. */
export function cellsOf(text: string): string[] | null {
  const cells: string[] = [];
  for (let at = 0; ; ) {
    cell.lastIndex = at;
    const match = cell.exec(text);
    if (match === null) return null;
    const [whole, quoted, plain] = match;
    cells.push(quoted === undefined ? (plain ?? '') : quoted.replaceAll('""', '"'));
    at += whole.length;
    if (at === text.length) return cells;
    at += 1; // the comma
  }
}
