import { cpSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestService } from '@indelible/testing/service';
import { sha256Hex } from '../../../server/src/archive/part-files.ts';
import { type ArchiveOptions, verifyArchive } from '../archive/verify-archive.ts';
import { noProgress } from '../verify/log-source.ts';

/** The folder of a tenant's archive in the service's own object store. */
export const archiveIn = ({ dataDir }: TestService, tenantId: string) =>
  join(dataDir, 'objects/archive', `tenant=${tenantId}`);

/** Runs `indelible archive verify <folder>`. */
export const verifiedArchive = (root: string, options: Partial<ArchiveOptions> = {}) =>
  verifyArchive(root, { tenantId: null, vkeys: [], progress: noProgress, ...options });

export const namesIn = (root: string) =>
  readdirSync(root, { recursive: true, encoding: 'utf8' }).sort();

/** A copy of a tenant's archive below `folder`, with the names in it. */
export function copiedArchive(whole: string, folder: string) {
  const root = mkdtempSync(join(folder, 'copy-'));
  cpSync(whole, join(root, whole.slice(whole.lastIndexOf('/'))), { recursive: true });
  return { root, names: namesIn(root) };
}

type Copied = ReturnType<typeof copiedArchive>;

export const pathOf = ({ root, names }: Copied, part: string) =>
  join(root, names.find((name) => name.includes(part)) ?? 'none');

/** Makes a manifest agree with what its files have become. */
export function adjust(copied: Copied, part: string, change: (json: never) => void) {
  const path = pathOf(copied, part);
  const json = JSON.parse(readFileSync(path, 'utf8'));
  change(json as never);
  writeFileSync(path, JSON.stringify(json));
}

/** What a manifest states of a file. */
export const stated = (path: string) => {
  const file = readFileSync(path);
  return { bytes: file.length, sha256: sha256Hex(file) };
};
