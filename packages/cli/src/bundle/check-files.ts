import { createReadStream, existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Findings } from '@indelible/protocol';
import { addDamage } from '../verify/damage.ts';
import type { Progress } from '../verify/log-source.ts';
import type { BundleFiles } from './bundle-files.ts';
import { fileDigest, parseSumLine } from './checksums.ts';
import { bundleFiles, type Manifest } from './manifest.ts';

/** Names a bundle cannot do without. */
const needed = [
  bundleFiles.checkpoint,
  bundleFiles.keys,
  bundleFiles.events,
  bundleFiles.retention,
  bundleFiles.sums,
];

/**
 * Compares every file with the checksum that was written with it, but for the events, which are hashed
 * when they are read. A checksum proves nothing about the log: it tells what was damaged on the way.
 */
export async function checkFiles(
  { folder }: BundleFiles,
  manifest: Manifest,
  findings: Findings,
  progress: Progress,
): Promise<number> {
  progress.stage('files', null);
  let count = 0;
  const check = (path: string, digest: string) => {
    count += 1;
    progress.advance(1);
    if (!existsSync(join(folder, path))) {
      addDamage(findings, 'missing_file', `The file ${path} is not there.`);
    } else if (path !== bundleFiles.events) {
      compareDigest(path, fileDigest(join(folder, path)), digest, findings);
    }
  };
  for (const name of needed) {
    const digest = manifest.sha256[name];
    if (digest !== undefined) check(name, digest);
    else addDamage(findings, 'malformed_file', `The manifest has no checksum of ${name}.`);
  }
  const listed = new Set<string>(needed);
  for await (const line of sumLines(join(folder, bundleFiles.sums))) {
    const sum = parseSumLine(line);
    if (sum === null) addDamage(findings, 'malformed_file', 'SHA256SUMS has a malformed line.');
    else if (!listed.has(sum.path)) check(sum.path, sum.digest);
  }
  return count;
}

/** Adds a finding when a file has another digest than the one that was written. */
export function compareDigest(
  path: string,
  digest: string,
  written: string | undefined,
  findings: Findings,
): void {
  if (digest === written || written === undefined) return;
  addDamage(findings, 'file_mismatch', `The file ${path} is not the one that was written.`);
}

async function* sumLines(path: string) {
  if (!existsSync(path)) return;
  yield* createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY });
}
