import { type Findings, FormatError } from '@indelible/protocol';
import type { Archive, ArchiveManifest, FoundSegment } from '@indelible/server';
import { addDamage } from '../verify/damage.ts';

export interface NamedSegment {
  segment: FoundSegment;
  manifest: ArchiveManifest;
}

/**
 * The parts in order, from the log's first entry to the first gap: entries after a gap cannot be
 * placed in the signed tree. Problems of manifests and their order become findings.
 */
export async function readManifests(
  archive: Archive,
  tenantId: string,
  found: readonly FoundSegment[],
  findings: Findings,
): Promise<NamedSegment[]> {
  const segments: NamedSegment[] = [];
  let next = 0;
  for (const segment of found) {
    if (segment.first !== next) {
      addDamage(findings, 'missing_file', gapSentence(next, segment), { sequence: next });
      return segments;
    }
    const manifest = await manifestOf(archive, tenantId, segment, findings);
    if (manifest === null) return segments;
    segments.push({ segment, manifest });
    next = segment.last + 1;
  }
  return segments;
}

function gapSentence(next: number, { first, last }: FoundSegment): string {
  if (first > next) return `The entries ${next} to ${first - 1} are in no part of the archive.`;
  return `The archive part from ${first} to ${last} repeats entries below ${next}.`;
}

async function manifestOf(
  archive: Archive,
  tenantId: string,
  segment: FoundSegment,
  findings: Findings,
): Promise<ArchiveManifest | null> {
  const { parseArchiveManifest } = await import('@indelible/server');
  const { first, last } = segment;
  try {
    const manifest = parseArchiveManifest((await archive.manifest(segment)) ?? new Uint8Array());
    const isNamed =
      manifest.tenantId === tenantId && manifest.first === first && manifest.last === last;
    if (isNamed) return manifest;
    throw new FormatError('it belongs to another archive part than its name says');
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    const message =
      `The manifest of the archive part from ${first} to ${last} is invalid: ` +
      `${error.message}.`;
    addDamage(findings, 'malformed_file', message, { sequence: first });
    return null;
  }
}
