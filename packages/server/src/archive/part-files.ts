import { hash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { FormatError } from '@indelible/protocol';
import type { ArchivedRow } from '../cold/archived-row.ts';
import type { PartPaths } from '../cold/part.ts';
import { readPart } from '../cold/read-part.store.ts';
import type { ColdFile } from '../cold/store.ts';
import type { ObjectStore } from '../objects/object-store.ts';
import type { ArchiveDeps } from './archived-part.ts';
import { type ArchiveManifest, parseManifest } from './manifest.ts';

/** Throws ArchiveConflict if it is not a manifest. */
export async function readManifest(objects: ObjectStore, name: string): Promise<ArchiveManifest> {
  return manifestIn(name, (await objects.get(name)) ?? new Uint8Array());
}

/** Throws like `readManifest`. */
export function manifestIn(name: string, bytes: Uint8Array): ArchiveManifest {
  try {
    return parseManifest(bytes);
  } catch (error) {
    return unreadable(name, error);
  }
}

/** What is wrong with the form of an object, for the operator. */
export function unreadable(name: string, error: unknown): never {
  if (!(error instanceof FormatError)) throw error;
  throw new ArchiveConflict(`${name} cannot be read: ${error.message}`);
}

/**
 * Runs `work` with the rows of a part, which it may read more than once: from copies of the files.
 * Throws ArchiveConflict if they differ from the manifest.
 */
export async function withPart<T>(
  { objects, tmpDir }: Pick<ArchiveDeps, 'objects' | 'tmpDir'>,
  manifestName: string,
  manifest: ArchiveManifest,
  work: (rows: () => AsyncIterable<ArchivedRow[]>) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpDir, 'archive-'));
  try {
    const paths = await fetchFiles(objects, folder, manifestName, manifest);
    return await work(() => readPart(folder, paths, manifest.tenantId));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function fetchFiles(
  objects: ObjectStore,
  folder: string,
  manifestName: string,
  { files }: ArchiveManifest,
): Promise<PartPaths> {
  const paths = {
    events: join(folder, 'former-events'),
    identity: join(folder, 'former-identity'),
  };
  for (const kind of ['events', 'identity'] as const) {
    const bytes = await intactFile(objects, dirname(manifestName), files[kind]);
    await writeFile(paths[kind], bytes, { mode: 0o600 });
  }
  return paths;
}

/** A file of a part. Throws ArchiveConflict if it is not the one that its manifest names. */
export async function intactFile(
  objects: ObjectStore,
  folder: string,
  { name, sha256 }: ColdFile,
): Promise<Uint8Array> {
  const bytes = await objects.get(`${folder}/${name}`);
  if (bytes !== null && sha256Hex(bytes) === sha256) return bytes;
  const what = bytes === null ? 'is not there' : 'is not the one that its manifest names';
  throw new ArchiveConflict(`${folder}/${name} ${what}: the archive is damaged`);
}

/** The archive cannot continue by itself; the message is for the operator. */
export class ArchiveConflict extends Error {}

export function sha256Hex(bytes: Uint8Array): string {
  return hash('sha256', bytes, 'hex');
}

/**
 * Writes an object that must never be overwritten. An existing one with the same bytes is ours:
 * only the answer was lost. Throws ArchiveConflict if it has other bytes.
 */
export async function putOnce(
  objects: ObjectStore,
  name: string,
  bytes: Uint8Array,
): Promise<void> {
  if (await objects.putIfAbsent(name, bytes)) return;
  const stored = await objects.get(name);
  if (stored !== null && sha256Hex(stored) === sha256Hex(bytes)) return;
  throw new ArchiveConflict(
    `${name} already exists in the object store with other content: another ` +
      'service writes to this archive',
  );
}
