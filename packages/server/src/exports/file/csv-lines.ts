import {
  bareKinds,
  type CsvColumn,
  contextOf,
  csvContextCell,
  csvTextCell,
  type EventContext,
  eventFields,
  eventIdPrefix,
  formatTimestamp,
  isContextColumn,
} from '@indelible/protocol';
import type { WriteLine } from './line-buffer.ts';
import { fieldEnd, uuidBytes } from './packed-event.ts';

/**
 * The bytes of `csvRow` from packed rows of these columns, copied without strings. A string for
 * each cell would cost more than the rest of an export.
 */
export function csvLineWriter(columns: readonly CsvColumn[]): WriteLine {
  const cells = columns.map((column) => ({ column, kind: kindOf(column) }));
  const hasContext = columns.some(isContextColumn);
  const line = new CsvLine();
  return (row, bytes, out, at) => {
    line.begin(row, bytes, out, at);
    const context = hasContext ? line.context() : noContext;
    for (const { column, kind } of cells) {
      if (kind === 'context') line.contextCell(context, column);
      else line.cell(kind);
    }
    return line.end();
  };
}

const noContext: EventContext = {};

/** The content of a cell: the id, text, JSON, or a field that needs no escaping. */
type Kind = 'id' | 'timestamp' | 'text' | 'json' | 'bare';

function kindOf(column: CsvColumn): Kind | 'context' {
  if (isContextColumn(column)) return 'context';
  const field = eventFields.find(({ path }) => path === column);
  if (field === undefined) return 'json'; // recordedBy
  const { kind, key } = field;
  if (kind === 'eventId') return 'id';
  if (kind === 'time') return key === undefined ? 'timestamp' : 'bare';
  if (kind === 'diff' || kind === 'state') return 'json';
  return bareKinds.has(kind) ? 'bare' : 'text';
}

const quote = 0x22;
const comma = 0x2c;
const escapedSemicolon = '\\u003b';

/** What a byte requires of its cell: nothing, quotes, or an escape. */
const asks = { nothing: 0, quotes: 1, doubling: 2, escaping: 3, end: 4 };

function tableOf(marks: Record<string, number>): Uint8Array {
  const table = new Uint8Array(256);
  for (const [bytes, ask] of Object.entries(marks)) {
    for (const byte of Buffer.from(bytes)) table[byte] = ask;
  }
  return table;
}
const inBare = tableOf({ '\u001f': asks.end });
const quoted = { '\u001f': asks.end, ',;\t\r\n': asks.quotes, '"': asks.doubling };
const inText = tableOf(quoted);
const inJson = tableOf({ ...quoted, ';': asks.escaping });

/** A text with such a first character is not a formula; `csvTextCell` checks the others. */
const startsPlain = tableOf({
  '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz': 1,
});

const digits = Buffer.from('0123456789abcdefghjkmnpqrstvwxyz');
const hyphen = 0x2d;
const hexDigit = tableOf(Object.fromEntries(Array.from('123456789abcdef', (d, n) => [d, n + 1])));

/** A line being written, from `row` to `out`. */
class CsvLine {
  #row: Buffer = Buffer.alloc(0);
  #out: Buffer = this.#row;
  /** Start of the next field, with its separator, and end of the row. */
  #from = 0;
  #end = 0;
  #at = 0;
  #fits = true;

  begin(row: Buffer, bytes: number, out: Buffer, at: number): void {
    this.#row = row;
    this.#end = bytes;
    this.#out = out;
    this.#at = at;
    this.#from = uuidBytes;
    this.#fits = true;
  }

  /** End of the line; -1 if the row does not have the expected fields. */
  end(): number {
    if (!this.#fits || this.#from !== this.#end) return -1;
    this.#out[this.#at - 1] = 0x0d; // for the comma behind the last cell
    this.#out[this.#at] = 0x0a;
    return this.#at + 1;
  }

  /** The fields of version 2, from the two texts with which such a row begins. */
  context(): EventContext {
    const context = this.#takeText();
    const contextIdentity = this.#takeText();
    if (context === '' && contextIdentity === '') return noContext;
    return contextOf({ context: context || null, contextIdentity: contextIdentity || null });
  }

  contextCell(context: EventContext, column: CsvColumn): void {
    if (context !== noContext)
      this.#at += this.#out.write(csvContextCell(context, column), this.#at);
    this.#out[this.#at++] = comma;
  }

  cell(kind: Kind): void {
    if (kind === 'id') this.#writeId();
    else if (kind === 'timestamp') this.#write(formatTimestamp(this.#timeMs()));
    else this.#field(kind);
    this.#out[this.#at++] = comma;
  }

  #write(text: string): void {
    this.#at += this.#out.write(text, this.#at, 'latin1');
  }

  /** Like `eventIdFromUuid`: two zero bits and the UUID's 128, five for each digit. */
  #writeId(): void {
    this.#write(eventIdPrefix);
    let bits = 0;
    let count = 2;
    for (let from = 0; from < uuidBytes; from++) {
      const byte = this.#row[from] as number;
      if (byte === hyphen) continue;
      bits = ((bits & 0x1f) << 4) | (hexDigit[byte] as number);
      count += 4;
      if (count < 5) continue;
      count -= 5;
      this.#out[this.#at++] = digits[(bits >> count) & 0x1f] as number;
    }
  }

  /** The first 48 bits of the UUID. */
  #timeMs(): number {
    let ms = 0;
    for (let from = 0; from < 13; from++) {
      const byte = this.#row[from] as number;
      if (byte !== hyphen) ms = 16 * ms + (hexDigit[byte] as number);
    }
    return ms;
  }

  #field(kind: Kind): void {
    if (!this.#beginField()) return;
    if (kind === 'bare') this.#copy(inBare);
    else if (kind === 'json') this.#copy(inJson);
    else if (startsPlain[this.#row[this.#from] as number] === 1) this.#copy(inText);
    else this.#guard();
  }

  /** Steps over a separator; false if there is none. */
  #beginField(): boolean {
    const isThere = this.#from < this.#end && this.#row[this.#from] === fieldEnd;
    if (isThere) this.#from += 1;
    else this.#fits = false;
    return isThere;
  }

  #copy(asked: Uint8Array): void {
    const row = this.#row;
    const out = this.#out;
    const end = this.#end;
    let from = this.#from;
    let at = this.#at;
    let inQuotes = false;
    for (; from < end; from++) {
      const byte = row[from] as number;
      const ask = asked[byte] as number;
      out[at++] = byte;
      if (ask === asks.nothing) continue;
      if (ask === asks.end) {
        at -= 1;
        break;
      }
      if (ask === asks.escaping) at += out.write(escapedSemicolon, at - 1, 'latin1') - 1;
      else inQuotes = true;
      if (ask === asks.doubling) out[at++] = byte;
    }
    const began = this.#at;
    this.#from = from;
    this.#at = at;
    if (inQuotes) this.#putInQuotes(began);
  }

  #putInQuotes(began: number): void {
    this.#out.copyWithin(began + 1, began, this.#at);
    this.#out[began] = quote;
    this.#out[this.#at + 1] = quote;
    this.#at += 2;
  }

  /** Text that is empty, or may be a formula. */
  #guard(): void {
    const text = this.#toFieldEnd();
    if (text !== '') this.#at += this.#out.write(csvTextCell(text), this.#at);
  }

  #takeText(): string {
    if (!this.#beginField()) return '';
    return this.#toFieldEnd();
  }

  #toFieldEnd(): string {
    const next = this.#row.indexOf(fieldEnd, this.#from);
    const end = next === -1 ? this.#end : Math.min(next, this.#end);
    const text = end > this.#from ? this.#row.toString('utf8', this.#from, end) : '';
    this.#from = end;
    return text;
  }
}
