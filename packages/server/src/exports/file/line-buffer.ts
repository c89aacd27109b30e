import { uuidBytes } from './packed-event.ts';

/**
 * Writes the line of the packed row in the first `bytes` of `row` into `out` at `at`, and returns
 * its end; -1 if the event must be read separately.
 */
export type WriteLine = (row: Buffer, bytes: number, out: Buffer, at: number) => number;

/** Whole lines, valid until the next piece; or the id of an event to be read separately. */
type Piece = { lines: Buffer; rows: number } | { alone: string };

/** Size of a piece: short enough that other requests are answered in between. */
const pieceBytes = 96 * 1024;
/** Larger rows are read separately. */
const rowBytesMax = 96 * 1024;
/** A byte becomes at most six, as in `\u0001`; plus the fields besides texts. */
const lineBytesMax = 6 * rowBytesMax + 4_096;

/** The lines of page after page. */
export class LineBuffer {
  readonly #writeLine: WriteLine;
  readonly #row = Buffer.allocUnsafeSlow(rowBytesMax);
  readonly #out = Buffer.allocUnsafeSlow(pieceBytes + lineBytesMax);

  constructor(writeLine: WriteLine) {
    this.#writeLine = writeLine;
  }

  *piecesOf(page: readonly string[]): Generator<Piece, void> {
    let length = 0;
    let rows = 0;
    for (const [index, row] of page.entries()) {
      const end = this.#write(row, length);
      if (end > 0) {
        length = end;
        rows += 1;
      }
      if (rows > 0 && (end < 0 || length > pieceBytes || index === page.length - 1)) {
        yield { lines: this.#out.subarray(0, length), rows };
        length = 0;
        rows = 0;
      }
      if (end < 0) yield { alone: row.slice(0, uuidBytes) };
    }
  }

  /** A single line, also valid until the next piece. */
  hold(line: string): Buffer {
    if (!isWithin(line, this.#out.length)) return Buffer.from(line);
    return this.#out.subarray(0, this.#out.write(line));
  }

  #write(row: string, at: number): number {
    if (!isWithin(row, rowBytesMax)) return -1;
    return this.#writeLine(this.#row, this.#row.write(row), this.#out, at);
  }
}

function isWithin(text: string, bytesMax: number): boolean {
  return 3 * text.length <= bytesMax || Buffer.byteLength(text) <= bytesMax;
}
