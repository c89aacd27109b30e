import { closeSync, openSync, readSync } from 'node:fs';

/** The text of a file or pipe. Throws Error for one that is longer. */
export function readAtMost(path: string, bytesMax: number): string {
  const fd = openSync(path, 'r');
  try {
    const chunks: Buffer[] = [];
    for (let length = 0; length <= bytesMax; ) {
      const chunk = Buffer.alloc(1 << 16);
      const read = readSync(fd, chunk);
      if (read === 0) return Buffer.concat(chunks).toString();
      chunks.push(chunk.subarray(0, read));
      length += read;
    }
    throw new Error(`it is longer than ${bytesMax} bytes`);
  } finally {
    closeSync(fd);
  }
}
