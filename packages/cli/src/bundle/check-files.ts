import { type Findings, readOrNull } from '@indelible/protocol';
import { filesBelow } from '@indelible/server/inside-folder';
import type { Reading } from '../verify/entry-file.ts';
import type { BundleFiles } from './bundle-files.ts';
import { parseSumLine } from './checksums.ts';
import { bundleFiles, type Manifest } from './manifest.ts';

/** Required files of a bundle. */
const needed = [
  bundleFiles.checkpoint,
  bundleFiles.keys,
  bundleFiles.events,
  bundleFiles.retention,
  bundleFiles.sums,
];

/** A list with more missing files is not a list of this folder. */
const missingMax = 1_000;

/**
 * Compares every file with its checksum, except the events, which are hashed when they are read. A
 * checksum proves nothing about the log: it shows damage in transit. `unlisted` files are in the
 * folder, and in no list of the bundle.
 */
export async function checkFiles(
  bundle: BundleFiles,
  manifest: Manifest,
  { findings, progress }: Reading,
) {
  progress.stage('files', null);
  const listed = new Set<string>([bundleFiles.manifest]);
  let missing = 0;
  const check = (path: string, digest: string) => {
    listed.add(path);
    progress.advance(1);
    if (!compareFile(bundle, path, digest, findings)) missing += 1;
  };
  for (const name of needed) {
    const digest = manifest.sha256[name];
    if (digest !== undefined) check(name, digest);
    else findings.add('malformed_file', `The manifest has no checksum of ${name}.`);
  }
  for (const line of bundle.sums()) {
    const sum = parseSumLine(line);
    const isNeeded = sum !== null && (needed as readonly string[]).includes(sum.path);
    if (isNeeded) continue;
    if (sum === null || listed.has(sum.path) || missing > missingMax) {
      findings.add('malformed_file', 'SHA256SUMS is not a list of files.');
      break;
    }
    check(sum.path, sum.digest);
  }
  return { count: listed.size - 1, unlisted: await unlistedFiles(bundle.folder, listed) };
}

/** False if the file is absent. */
function compareFile(
  bundle: BundleFiles,
  path: string,
  written: string,
  findings: Findings,
): boolean {
  const read = orFinding(findings, () => ({ digest: bundle.digest(path) }));
  if (read === null) return true;
  const { digest } = read;
  if (digest === null) findings.add('missing_file', `The file ${path} is missing.`);
  else if (digest !== '') compareDigest(path, digest, written, findings);
  return digest !== null;
}

/** What `read` returns; null, with a finding, for a file of the bundle that is malformed. */
export function orFinding<T>(findings: Findings, read: () => T): T | null {
  return readOrNull(read, ({ message }) =>
    findings.add('malformed_file', `A file of the bundle cannot be read: ${message}.`),
  );
}

/** Adds a finding if a file's digest differs from the written one. */
export function compareDigest(
  path: string,
  digest: string,
  written: string | undefined,
  findings: Findings,
): void {
  if (digest === written || written === undefined) return;
  findings.add('file_mismatch', `The file ${path} differs from its checksum.`);
}

async function unlistedFiles(folder: string, listed: ReadonlySet<string>): Promise<string[]> {
  const names = await filesBelow(folder);
  return names.filter((name) => !listed.has(name)).sort();
}
