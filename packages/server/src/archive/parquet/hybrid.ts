import { GrowingBytes } from './growing-bytes.ts';
import { varint } from './thrift.ts';

type Numbers = Uint8Array | Uint16Array;

/** Shorter runs are not worth the header of their own. */
const runMin = 8;

/**
 * Numbers of `width` bits in Parquet's RLE/bit-packing hybrid: runs of one value, and groups of
 * eight values packed together. https://parquet.apache.org/docs/file-format/data-pages/encodings/
 */
export function hybrid(values: Numbers, width: number): Buffer {
  const out = new GrowingBytes();
  for (let at = 0; at < values.length; ) {
    const run = runAt(values, at, values.length);
    if (run >= runMin) {
      out.append(varint(2 * run));
      const value = values[at] ?? 0;
      for (let bits = 0; bits < width; bits += 8) out.byte((value >>> bits) & 0xff);
      at += run;
      continue;
    }
    const start = at;
    while (at < values.length && runAt(values, at, at + runMin) < runMin) at += 8;
    const groups = (at - start) / 8;
    out.append(varint(2 * groups + 1));
    const last = packed(values.subarray(start, at), width);
    out.append(last);
    // The last group is whole, whatever it holds.
    for (let missing = groups * width - last.length; missing > 0; missing -= 1) out.byte(0);
    at = Math.min(at, values.length);
  }
  return out.bytes();
}

/** How many equal values begin there; counted up to `end`. */
function runAt(values: Numbers, at: number, end: number): number {
  const value = values[at];
  let next = at + 1;
  while (next < end && values[next] === value) next += 1;
  return next - at;
}

/** Numbers of `width` bits, the lowest bit first; zeros fill the last byte. */
export function packed(values: Numbers, width: number): Buffer {
  const bytes = Buffer.alloc(Math.ceil((values.length * width) / 8));
  let [pending, bits, at] = [0, 0, 0];
  for (let index = 0; index < values.length; index += 1) {
    pending |= (values[index] ?? 0) << bits;
    for (bits += width; bits >= 8; bits -= 8) {
      bytes[at] = pending;
      at += 1;
      pending >>>= 8;
    }
  }
  if (bits > 0) bytes[at] = pending;
  return bytes;
}
