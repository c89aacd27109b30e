import { lstatSync, readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';

/**
 * Whether the subject is an archive: an s3 URL, or a folder of tenants or months in the archive's
 * layout.
 */
export function isArchive(subject: string): boolean {
  if (subject.startsWith('s3://')) return true;
  if (!statSync(subject, { throwIfNoEntry: false })?.isDirectory()) return false;
  if (basename(subject).startsWith('tenant=')) return true;
  const within = join(subject, 'archive');
  const isFolder = lstatSync(within, { throwIfNoEntry: false })?.isDirectory() ?? false;
  return hasTenants(subject) || (isFolder && hasTenants(within));
}

function hasTenants(folder: string): boolean {
  return readdirSync(folder).some((name) => name.startsWith('tenant='));
}
