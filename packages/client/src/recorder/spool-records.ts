/*
 * The records of a spool file: lines of text, so that an operator can read them.
 *
 *   <length: 8 hex> <CRC-32: 8 hex> <JSON>\n
 *
 * Length and checksum are of the JSON's bytes (UTF-8). JSON text holds no line feed, so that
 * reading goes on at the next line behind anything that is damaged.
 */

const headerBytes = 18;
const headerExpression = /^([0-9a-f]{8}) ([0-9a-f]{8}) $/;
const lineFeed = 0x0a;

/** The bytes of a record besides its JSON. */
export const recordOverhead = headerBytes + 1;

export function encodeRecords(texts: readonly string[]): Buffer {
  let size = 0;
  for (const text of texts) size += Buffer.byteLength(text) + recordOverhead;
  const lines = Buffer.allocUnsafe(size);
  let at = 0;
  for (const text of texts) {
    const length = lines.write(text, at + headerBytes);
    const checksum = crc32(lines, at + headerBytes, length);
    lines.write(`${hex(length)} ${hex(checksum)} `, at, 'latin1');
    at += headerBytes + length;
    lines[at] = lineFeed;
    at += 1;
  }
  return lines;
}

export interface DecodedRecords {
  texts: string[];
  /** Bytes that are not a record: an incomplete or changed line. */
  damagedBytes: number;
}

/** The records in `bytes`, which start at a line and end at the end of the file. */
export function decodeRecords(bytes: Buffer): DecodedRecords {
  const decoded: DecodedRecords = { texts: [], damagedBytes: 0 };
  for (let at = 0; at < bytes.length; ) {
    const length = recordLength(bytes, at);
    if (length !== null) {
      decoded.texts.push(bytes.toString('utf8', at + headerBytes, at + headerBytes + length));
      at += headerBytes + length + 1;
      continue;
    }
    const end = bytes.indexOf(lineFeed, at);
    const next = end === -1 ? bytes.length : end + 1;
    decoded.damagedBytes += next - at;
    at = next;
  }
  return decoded;
}

/** Length of the JSON of the record at `at`; null if it is not complete. */
function recordLength(bytes: Buffer, at: number): number | null {
  const header = bytes.toString('latin1', at, at + headerBytes);
  const [, length = '', checksum = ''] = headerExpression.exec(header) ?? [];
  if (length === '') return null;
  const start = at + headerBytes;
  const size = Number.parseInt(length, 16);
  if (bytes[start + size] !== lineFeed) return null;
  return crc32(bytes, start, size) === Number.parseInt(checksum, 16) ? size : null;
}

const hex = (value: number) => value.toString(16).padStart(8, '0');

// The polynomial of zlib (IEEE 802.3), reflected. Not every version of Node 20 has zlib.crc32.
const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

/** CRC-32 of `length` bytes from `start`, unsigned. */
export function crc32(bytes: Uint8Array, start: number, length: number): number {
  let value = 0xffffffff;
  for (let at = start; at < start + length; at += 1) {
    value = (value >>> 8) ^ (table[(value ^ (bytes[at] ?? 0)) & 255] ?? 0);
  }
  return ~value >>> 0;
}
