import { fileDigest, sumLine } from './checksums.ts';
import { bundleFiles } from './manifest.ts';
import type { PartFolder } from './part-folder.ts';
import { tilePathsOf } from './tile-list.ts';

/**
 * Writes SHA256SUMS and returns the digests for the
 * manifest, which cannot be in a list it is named in.
 */
export function writeSums(part: PartFolder, size: number): Record<string, string> {
  const { readme, checkpoint, keys, events, retention, sums } = bundleFiles;
  const digests: Record<string, string> = {};
  for (const name of [readme, checkpoint, keys, events, retention]) {
    digests[name] = fileDigest(part.path(name));
  }
  const lines = Object.entries(digests).map(([name, digest]) => sumLine(digest, name));
  for (const path of tilePathsOf(size)) {
    // A log that is damaged is handed over as it is, for somebody to look into.
    if (part.has(path)) lines.push(sumLine(fileDigest(part.path(path)), path));
  }
  part.write(sums, `${lines.join('\n')}\n`);
  return { ...digests, [sums]: fileDigest(part.path(sums)) };
}
