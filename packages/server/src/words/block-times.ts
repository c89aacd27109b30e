import { uuidLength } from './word-block.ts';

/*
 * When the events of a block happened, in milliseconds, ascending: LEB128 of the difference to the
 * one before it, the first since 1970.
 */

export function encodeTimes(ids: Buffer): Buffer {
  const bytes: number[] = [];
  let last = 0;
  for (let at = 0; at < ids.length; at += uuidLength) {
    const time = ids.readUIntBE(at, 6);
    let rest = time - last;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
    bytes.push(rest);
    last = time;
  }
  return Buffer.from(bytes);
}

/** Reads the times of all events of a block into `times`; returns it. */
export function decodeTimes(bytes: Uint8Array, times: Float64Array): Float64Array {
  let last = 0;
  let at = 0;
  for (let event = 0; event < times.length; event++) {
    for (let scale = 1; ; scale *= 0x80) {
      const byte = bytes[at++];
      if (byte === undefined) throw new Error('the times of a block are damaged');
      last += (byte & 0x7f) * scale;
      if (byte < 0x80) break;
    }
    times[event] = last;
  }
  return times;
}
