import { createHash, hash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { type TileLevel, tilePath, tileWidth } from '@indelible/protocol';
import { chunksOf } from '../kept-file.ts';
import { bundleFiles } from './manifest.ts';
import type { PartFolder } from './part-folder.ts';

/** SHA-256 of a file in hexadecimal, in constant memory. */
export function fileDigest(path: string): string {
  return openDigest(openSync(path, 'r'));
}

/** The digest of an open file, as by `fileDigest`; closes the file. */
export function openDigest(fd: number): string {
  try {
    // There are thousands of tiles of a few KiB: a stream costs more than the hashing.
    if (fstatSync(fd).size <= 2 ** 20) return hash('sha256', readFileSync(fd), 'hex');
    const digest = createHash('sha256');
    for (const chunk of chunksOf(fd)) digest.update(chunk);
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

/** The paths of all tiles of a log of this size, by c2sp.org/tlog-tiles. */
export function* tilePathsOf(size: number): Generator<string, void, undefined> {
  yield* level('entries', size);
  let hashes = size;
  for (let at = 0; hashes > 0; at += 1) {
    yield* level(at, hashes);
    hashes = Math.floor(hashes / tileWidth);
  }
}

function* level(name: TileLevel, count: number): Generator<string, void, undefined> {
  const full = Math.floor(count / tileWidth);
  for (let index = 0; index < full; index += 1) yield tilePath(name, index);
  if (count % tileWidth > 0) yield tilePath(name, full, count % tileWidth);
}

/**
 * Writes SHA256SUMS and returns the digests for the manifest. SHA256SUMS cannot contain the
 * manifest, because the manifest contains its digest.
 */
export function writeSums(part: PartFolder, size: number): Record<string, string> {
  const { readme, checkpoint, keys, events, retention, sums } = bundleFiles;
  const digests: Record<string, string> = {};
  for (const name of [readme, checkpoint, keys, events, retention]) {
    digests[name] = fileDigest(part.path(name));
  }
  const lines = Object.entries(digests).map(([name, digest]) => sumLine(digest, name));
  for (const path of tilePathsOf(size)) {
    // A damaged log is exported as it is, for analysis.
    if (part.has(path)) lines.push(sumLine(fileDigest(part.path(path)), path));
  }
  part.write(sums, `${lines.join('\n')}\n`);
  return { ...digests, [sums]: fileDigest(part.path(sums)) };
}
