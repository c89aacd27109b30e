import { fileDigest, sumLine } from './checksums.ts';
import { bundleFiles } from './manifest.ts';
import type { PartFolder } from './part-folder.ts';
import { tilePathsOf } from './tile-list.ts';

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
