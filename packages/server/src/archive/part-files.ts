import { writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { FormatError } from '@indelible/protocol';
import type { PartPaths } from '../cold/index.ts';
import type { ObjectStore } from '../objects/index.ts';
import { type ArchiveManifest, parseManifest } from './manifest.ts';
import { ArchiveConflict, sha256Hex } from './objects-once.ts';

/** Throws ArchiveConflict if it is not a manifest. */
export async function readManifest(objects: ObjectStore, name: string): Promise<ArchiveManifest> {
  try {
    return parseManifest((await objects.get(name)) ?? new Uint8Array());
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    throw new ArchiveConflict(`${name} cannot be read: ${error.message}`);
  }
}

/** Copies a part's files into `folder`. Throws ArchiveConflict if they differ from the manifest. */
export async function fetchFiles(
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
    const name = `${dirname(manifestName)}/${files[kind].name}`;
    const bytes = await objects.get(name);
    if (bytes === null || sha256Hex(bytes) !== files[kind].sha256) {
      throw new ArchiveConflict(`${name} is not the file that ${basename(manifestName)} names`);
    }
    await writeFile(paths[kind], bytes, { mode: 0o600 });
  }
  return paths;
}
