import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';

/** SHA-256 of a file in hexadecimal; of any size, in little memory. */
export async function fileDigest(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), hash);
  return hash.digest('hex');
}

/** A line of SHA256SUMS, as `sha256sum` writes and checks it; without its newline. */
export function sumLine(digest: string, path: string): string {
  return `${digest}  ${path}`;
}

/** The digest and path of such a line; null for any other. Paths stay below their folder. */
export function parseSumLine(line: string): { digest: string; path: string } | null {
  const [, digest, path] =
    /^([0-9a-f]{64}) {2}([A-Za-z0-9._-]+(?:\/[A-Za-z0-9._-]+)*)$/.exec(line) ?? [];
  if (digest === undefined || path === undefined) return null;
  return path.split('/').some((part) => part === '.' || part === '..') ? null : { digest, path };
}
