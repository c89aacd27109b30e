import {
  type Checkpoint,
  type ErasureRecord,
  equalBytes,
  type Findings,
  openCheckpoint,
  parseBase64,
  verifyConsistency,
  withCommas,
} from '@indelible/protocol';
import type { ArchiveManifest, NamedPart } from '@indelible/server';
import { sha } from '../verify/hashing.ts';
import {
  keyWindowsOf,
  type SignedCheckpoint,
  trustedCheckpoint,
} from '../verify/trusted-checkpoint.ts';

/**
 * The checkpoint of the last part, and the one at the end of the archive (`end`). Null, with a
 * finding, if no key has signed it or it does not continue the last part's root.
 */
export async function lastCheckpoint(
  manifests: readonly ArchiveManifest[],
  pinned: readonly string[],
  findings: Findings,
): Promise<(SignedCheckpoint & { end: Checkpoint }) | null> {
  const manifest = manifests.at(-1);
  if (manifest === undefined) return null;
  const signed = await trustedCheckpoint(noteOf(manifest), keysOf(manifest, pinned), findings);
  if (signed === null) return null;
  const { origin, size, root: signedRoot } = signed.checkpoint;
  const end = { origin, size: manifest.last + 1, root: hashOf(manifest.root) };
  const path = manifest.consistency.map(hashOf);
  const claim = {
    first: end.size,
    second: size,
    firstRoot: end.root,
    secondRoot: signedRoot,
    path,
  };
  const isSame = size === end.size && equalBytes(end.root, signedRoot);
  if (isSame || (size > end.size && verifyConsistency(sha, claim))) return { ...signed, end };
  const message =
    `The checkpoint of ${size} entries is not proven to continue the ${end.size} entries ` +
    'of the archive.';
  findings.add('inconsistent', message);
  return null;
}

/**
 * The signed checkpoints of all parts, each once: the same entries must give their roots. A finding
 * for each wrong signature; skips checkpoints of other keys than the pinned ones.
 */
export async function earlierCheckpoints(
  manifests: readonly ArchiveManifest[],
  pinned: readonly string[],
  end: Checkpoint,
  findings: Findings,
): Promise<Checkpoint[]> {
  const earlier = new Map<string, Checkpoint>();
  for (const manifest of manifests) {
    const { checkpoint: note, first } = manifest;
    if (earlier.has(note)) continue;
    const opened = await openCheckpoint(sha, note, keysOf(manifest, pinned).vkeys);
    if (opened.code === 'valid') {
      if (opened.checkpoint.size <= end.size) earlier.set(note, opened.checkpoint);
    } else if (opened.code !== 'unknown_key' || pinned.length === 0) {
      findings.add(opened.code, opened.message, { sequence: first });
    }
  }
  return [...earlier.values()];
}

export function continuedBy(size: number, signedSize: number): string {
  return (
    `The archive ends at ${withCommas(size)} entries; the signed checkpoint of ${withCommas(signedSize)} ` +
    'continues them.'
  );
}

function noteOf({ checkpoint }: ArchiveManifest): Uint8Array {
  return new TextEncoder().encode(checkpoint);
}

function keysOf({ keys }: ArchiveManifest, pinned: readonly string[]) {
  if (pinned.length > 0) return { source: 'pinned' as const, vkeys: [...pinned] };
  const vkeys = keys.map(({ vkey }) => vkey);
  return { source: 'archive' as const, vkeys, windows: keyWindowsOf(keys) };
}

function hashOf(base64: string): Uint8Array {
  return parseBase64(base64) ?? new Uint8Array();
}

/** The erasures that manifests state, if the archive ends before the log's own record of them. */
export function statedErasures(parts: readonly NamedPart[], size: number): ErasureRecord[] {
  return parts
    .flatMap(({ manifest }) => manifest.erasures ?? [])
    .filter((stated) => stated.size >= size)
    .map(({ segment, actors, events, size }) => ({
      sequence: size,
      segment,
      size,
      actors: new Set(actors),
      events: new Set(events),
    }));
}
