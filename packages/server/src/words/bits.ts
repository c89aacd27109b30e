/* Sets of the offsets of a block, one bit for each of its entries. */

export type Bits = Uint8Array<ArrayBuffer>;

/** Bits are combined 32 at once. */
export const bytesOfBits = (entries: number): number => 4 * Math.ceil(entries / 32);

export const noBits = (entries: number): Bits => new Uint8Array(bytesOfBits(entries));

/** The bits below an offset. */
export function firstBits(entries: number, count: number): Bits {
  const bits = noBits(entries).fill(0xff, 0, count >>> 3);
  for (let offset = count & ~7; offset < count; offset++) setBit(bits, offset);
  return bits;
}

export function setBit(bits: Bits, offset: number): void {
  bits[offset >>> 3] = (bits[offset >>> 3] ?? 0) | (1 << (offset & 7));
}

/** The bits, 32 at once, in the byte order of the machine. */
const in32 = (bits: Bits) => new Uint32Array(bits.buffer);

export function unite(bits: Bits, others: Bits): void {
  const [to, from] = [in32(bits), in32(others)];
  for (let at = 0; at < to.length; at++) to[at] = (to[at] ?? 0) | (from[at] ?? 0);
}

export function intersect(bits: Bits, others: Bits): void {
  const [to, from] = [in32(bits), in32(others)];
  for (let at = 0; at < to.length; at++) to[at] = (to[at] ?? 0) & (from[at] ?? 0);
}

export function subtract(bits: Bits, others: Bits): void {
  const [to, from] = [in32(bits), in32(others)];
  for (let at = 0; at < to.length; at++) to[at] = (to[at] ?? 0) & ~(from[at] ?? 0);
}

export function isEmpty(bits: Bits): boolean {
  return in32(bits).every((some) => some === 0);
}

/** The offsets, ascending. */
export function offsetsOf(bits: Bits): number[] {
  const offsets: number[] = [];
  for (const [four, some] of in32(bits).entries()) {
    if (some === 0) continue;
    for (let at = 4 * four; at < 4 * four + 4; at++) {
      let rest = bits[at] ?? 0;
      for (; rest !== 0; rest &= rest - 1) offsets.push(8 * at + 31 - Math.clz32(rest & -rest));
    }
  }
  return offsets;
}
