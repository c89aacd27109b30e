import { createReadStream } from 'node:fs';

/** One record of a CSV file (RFC 4180), in which quoted cells may hold line breaks. */
export interface CsvRecord {
  /** From 1; the header is the first. */
  number: number;
  /** All bytes, with the line break that ends it, if one does. */
  bytes: Buffer;
  /** Null when quotes are not where they may be, or the text is not UTF-8. */
  cells: string[] | null;
}

const quote = 0x22;
const lineFeed = 0x0a;
/** More than any event makes; a file without line breaks must not fill the memory. */
const recordBytesMax = 8 * 2 ** 20;

/** The records of a file, in order. A record that is too long ends there, and is no record. */
export async function* csvRecords(path: string): AsyncGenerator<CsvRecord, void, undefined> {
  let rest: Buffer = Buffer.alloc(0);
  let scanned = 0;
  let inQuotes = false;
  let number = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) {
    const data = rest.length === 0 ? (chunk as Buffer) : Buffer.concat([rest, chunk as Buffer]);
    let start = 0;
    for (let at = scanned; at < data.length; at += 1) {
      const byte = data[at];
      // An escaped quote is two: it opens and closes, or closes and opens again.
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

/** The cells of a record without its line break; null when it is not of RFC 4180. */
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
