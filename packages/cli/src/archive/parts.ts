import { lstatSync, readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type Findings, FormatError } from '@indelible/protocol';
import type { Archive, ArchiveManifest, FoundPart, NamedPart } from '@indelible/server';

/**
 * The parts in order, from the log's first entry to the first gap: entries after a gap cannot be
 * placed in the signed tree. Problems of manifests and their order become findings.
 */
export async function readManifests(
  archive: Archive,
  tenantId: string,
  found: readonly FoundPart[],
  findings: Findings,
): Promise<NamedPart[]> {
  const parts: NamedPart[] = [];
  let next = 0;
  for (const part of found) {
    if (part.first !== next) {
      findings.add('missing_file', gapSentence(next, part), { sequence: next });
      return parts;
    }
    const manifest = await manifestOf(archive, tenantId, part, findings);
    if (manifest === null) return parts;
    parts.push({ part, manifest });
    next = part.last + 1;
  }
  return parts;
}

function gapSentence(next: number, { first, last }: FoundPart): string {
  if (first > next) return `The entries ${next} to ${first - 1} are in no part of the archive.`;
  return `The archive part from ${first} to ${last} repeats entries below ${next}.`;
}

async function manifestOf(
  archive: Archive,
  tenantId: string,
  part: FoundPart,
  findings: Findings,
): Promise<ArchiveManifest | null> {
  const { parseArchiveManifest } = await import('@indelible/server');
  const { first, last } = part;
  try {
    const manifest = parseArchiveManifest((await archive.manifest(part)) ?? new Uint8Array());
    const isNamed =
      manifest.tenantId === tenantId && manifest.first === first && manifest.last === last;
    if (isNamed) return manifest;
    throw new FormatError('it belongs to another archive part than its name says');
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    const message =
      `The manifest of the archive part from ${first} to ${last} is invalid: ` +
      `${error.message}.`;
    findings.add('malformed_file', message, { sequence: first });
    return null;
  }
}

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
