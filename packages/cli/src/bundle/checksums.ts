import { createHash, hash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs';

const chunkBytes = 1 << 20;

/** SHA-256 of a file in hexadecimal, in constant memory. */
export function fileDigest(path: string): string {
  return openDigest(openSync(path, 'r'));
}

/** As `fileDigest`, of an open file, which it closes. */
export function openDigest(fd: number): string {
  try {
    // There are thousands of tiles of a few KiB: a stream costs more than the hashing.
    if (fstatSync(fd).size <= chunkBytes) return hash('sha256', readFileSync(fd), 'hex');
    const digest = createHash('sha256');
    const buffer = Buffer.alloc(chunkBytes);
    for (let read = readSync(fd, buffer); read > 0; read = readSync(fd, buffer)) {
      digest.update(buffer.subarray(0, read));
    }
    return digest.digest('hex');
  } finally {
    closeSync(fd);
  }
}

/** A line of SHA256SUMS, as `sha256sum` writes it; without its newline. */
export function sumLine(digest: string, path: string): string {
  return `${digest}  ${path}`;
}

/** The digest and path of such a line; null for any other. The path must stay below its folder. */
export function parseSumLine(line: string): { digest: string; path: string } | null {
  const [, digest, path] =
    /^([0-9a-f]{64}) {2}([A-Za-z0-9._-]+(?:\/[A-Za-z0-9._-]+)*)$/.exec(line) ?? [];
  if (digest === undefined || path === undefined) return null;
  return path.split('/').some((part) => part === '.' || part === '..') ? null : { digest, path };
}
