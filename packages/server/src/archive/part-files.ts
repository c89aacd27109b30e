import { createHash, hash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { equalBytes, FormatError } from '@indelible/protocol';
import type { ObjectStore } from '../objects/object-store.ts';
import { openObject, readObject } from '../objects/read-object.ts';
import type { ArchiveDeps } from './archived-part.ts';
import type { ArchivedRow } from './archived-row.ts';
import { type ArchiveManifest, type PartFile, parseManifest } from './manifest.ts';
import type { PartPaths } from './part.ts';

/** Larger than anything written, so that a hostile archive fills neither memory nor disk. */
export const bytesMax = { manifest: 16 * 2 ** 20, parquet: 256 * 2 ** 20 };

/** Throws ArchiveConflict if it is not a manifest. */
export async function readManifest(objects: ObjectStore, name: string): Promise<ArchiveManifest> {
  return manifestIn(name, await manifestBytes(objects, name));
}

/** Empty if it is absent. Throws ArchiveConflict if it is longer than any. */
export async function manifestBytes(objects: ObjectStore, name: string): Promise<Uint8Array> {
  const read = readObject(objects, name, bytesMax.manifest);
  return (await read.catch((error: unknown) => unreadable(name, error))) ?? new Uint8Array();
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

/** Copies of the two files of a part, in a folder of their own, whose path begins so. */
export async function openCopies(prefix: string) {
  const folder = await mkdtemp(prefix);
  const paths: PartPaths = { events: join(folder, 'events'), identity: join(folder, 'identity') };
  return {
    /**
     * Copies a file for `rows`, and compares it with its manifest. `other`: it differs, or `open`
     * throws a FormatError.
     */
    async copy(
      kind: keyof PartPaths,
      { bytes, sha256 }: PartFile,
      open: () => Promise<Readable | null>,
    ): Promise<'intact' | 'missing' | 'other'> {
      await rm(paths[kind], { force: true }); // else the one of the part before would be read
      const found = await open().catch(otherIfUnfit);
      if (found === null) return 'missing';
      if (found === 'other') return 'other';
      const digest = createHash('sha256');
      found.on('data', (chunk) => digest.update(chunk));
      const copy = createWriteStream(paths[kind], { mode: 0o600 });
      await pipeline(found, copy);
      const isSame = copy.bytesWritten === bytes && digest.digest('hex') === sha256;
      return isSame ? 'intact' : 'other';
    },
    /** The rows in order and in pages. FormatError if they are not files of a part. */
    async *rows(tenantId: string): AsyncGenerator<ArchivedRow[], void, undefined> {
      // Only here: a start of the service does not load the library.
      const { readPart } = await import('./read-part.ts');
      yield* readPart(paths, tenantId);
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

function otherIfUnfit(error: unknown): 'other' {
  if (error instanceof FormatError) return 'other';
  throw error;
}

/**
 * Runs `work` with the rows of a part, which it may read more than once: from copies of the files.
 * Throws ArchiveConflict if they differ from the manifest.
 */
export async function withPart<T>(
  { objects, tmpDir }: Pick<ArchiveDeps, 'objects' | 'tmpDir'>,
  manifestName: string,
  { files, tenantId }: ArchiveManifest,
  work: (rows: () => AsyncIterable<ArchivedRow[]>) => Promise<T>,
): Promise<T> {
  const copies = await openCopies(join(tmpDir, 'archive-'));
  try {
    for (const kind of ['events', 'identity'] as const) {
      const name = `${dirname(manifestName)}/${files[kind].name}`;
      const open = () => openObject(objects, name, bytesMax.parquet);
      const state = await copies.copy(kind, files[kind], open);
      if (state === 'intact') continue;
      const what = state === 'missing' ? 'is not there' : 'is not the one that its manifest names';
      throw new ArchiveConflict(`${name} ${what}: the archive is damaged`);
    }
    return await work(() => copies.rows(tenantId));
  } finally {
    await copies.remove();
  }
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
  const stored = await readObject(objects, name, bytes.length).catch(otherIfUnfit);
  if (typeof stored === 'object' && stored !== null && equalBytes(stored, bytes)) return;
  throw new ArchiveConflict(
    `${name} already exists in the object store with other content: another ` +
      'service writes to this archive',
  );
}
