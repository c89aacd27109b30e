import { closeSync, readSync } from 'node:fs';

const lineFeed = 0x0a;

/**
 * The bytes of an open file (closed at the end) in blocks that end with a line, except the last.
 * All blocks share one buffer: a block is valid until the next one. A line longer than
 * `lineBytesMax` is cut.
 */
export function* lineBlocks(
  fd: number,
  lineBytesMax: number,
  blockBytes = 1 << 18,
): Generator<Buffer, void, undefined> {
  try {
    let buffer = Buffer.alloc(blockBytes);
    let kept = 0;
    for (;;) {
      const filled = kept + readSync(fd, buffer, { offset: kept });
      if (filled === kept) break;
      const end = buffer.lastIndexOf(lineFeed, filled - 1) + 1;
      const whole = end === 0 && filled >= lineBytesMax ? filled : end;
      if (whole > 0) yield buffer.subarray(0, whole);
      buffer.copyWithin(0, whole, filled);
      kept = filled - whole;
      if (kept === buffer.length) buffer = Buffer.concat([buffer], 2 * buffer.length);
    }
    if (kept > 0) yield buffer.subarray(0, kept);
  } finally {
    closeSync(fd);
  }
}
