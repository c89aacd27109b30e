import { uuidBytes } from './packed-event.ts';

/**
 * Writes the line of the packed row in the first `bytes` of `row` into `out` at `at`, and returns
 * where it ends there; -1 when it cannot be written, and its event is to be read alone.
 */
export type WriteLine = (row: Buffer, bytes: number, out: Buffer, at: number) => number;

/** Whole lines, valid until the next piece is asked for; or the id of an event to be read alone. */
export type Piece = { lines: Buffer; rows: number } | { alone: string };

/** Where a piece ends: soon enough that other requests are answered in between. */
const pieceBytes = 96 * 1024;
/** Packed rows that may be longer are read alone. */
const rowBytesMax = 96 * 1024;
/** A byte becomes six at most, as in `\u0001`; then there is what an event has beside its texts. */
const lineBytesMax = 6 * rowBytesMax + 4_096;

/** The lines of one page after the other. */
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

  /** A line on its own, valid until the next piece too. */
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
