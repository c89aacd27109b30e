import { eventBytesMax } from '@indelible/protocol';

/** One line of the source without its line break. */
export interface Line {
  /** From 1. */
  number: number;
  /** The whole line, or its beginning if it is too long. */
  bytes: Buffer;
  tooLong: boolean;
}

/** The largest event that the service accepts. */
export const lineBytesMax = eventBytesMax;
const beginningBytes = 1_000;

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const byteOrderMark = Buffer.from('\ufeff');

/**
 * Splits bytes into lines at `\n` or `\r\n`. Drops a leading byte order mark; the last line needs
 * no line break. Holds little more than `bytesMax` of a line.
 */
export class LineSplitter {
  readonly #bytesMax: number;
  #parts: Buffer[] = [];
  #bytes = 0;
  #number = 0;

  constructor(bytesMax = lineBytesMax) {
    this.#bytesMax = bytesMax;
  }

  *push(chunk: Buffer): Generator<Line, void, undefined> {
    let start = 0;
    for (let end = chunk.indexOf(lineFeed); end !== -1; end = chunk.indexOf(lineFeed, start)) {
      this.#keep(chunk.subarray(start, end));
      yield this.#cut();
      start = end + 1;
    }
    this.#keep(chunk.subarray(start));
  }

  /** The text after the last line break, if any. */
  *end(): Generator<Line, void, undefined> {
    if (this.#bytes > 0) yield this.#cut();
  }

  #keep(part: Buffer): void {
    if (part.length === 0) return;
    if (this.#bytes <= this.#bytesMax) this.#parts.push(part);
    this.#bytes += part.length;
  }

  #cut(): Line {
    const [only] = this.#parts;
    const bytes = this.#parts.length === 1 && only ? only : Buffer.concat(this.#parts);
    const max = this.#bytesMax;
    const tooLong = this.#bytes > max + 1 || contentOf(bytes).length > max;
    this.#parts = [];
    this.#bytes = 0;
    this.#number += 1;
    const line = this.#number === 1 ? withoutMark(bytes) : bytes;
    if (!tooLong) return { number: this.#number, bytes: contentOf(line), tooLong };
    return { number: this.#number, bytes: line.subarray(0, beginningBytes), tooLong };
  }
}

/** The lines of these chunks. */
export function* linesOf(chunks: Iterable<Buffer>, bytesMax: number): Generator<Line, void> {
  const splitter = new LineSplitter(bytesMax);
  for (const chunk of chunks) yield* splitter.push(chunk);
  yield* splitter.end();
}

function contentOf(line: Buffer): Buffer {
  return line.at(-1) === carriageReturn ? line.subarray(0, -1) : line;
}

function withoutMark(line: Buffer): Buffer {
  return line.subarray(0, 3).equals(byteOrderMark) ? line.subarray(3) : line;
}

export function isBlank({ bytes }: Line): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === carriageReturn);
}
