import { monthFolder, namesOfStem, parseArchiveName } from '../cold/layout.ts';
import { hasRoot } from '../log/guard.store.ts';
import { treeReader } from '../log/tree.store.ts';
import type { ArchiveDeps, ArchivedPart } from './archived-part.ts';
import { bookmarkPart } from './make-part.ts';
import type { ArchiveManifest } from './manifest.ts';
import { ArchiveConflict, sha256Hex } from './objects-once.ts';
import { manifestIn } from './part-files.ts';
import { entryAt } from './store.ts';

/**
 * Bookmarks the part that begins at `first` if its manifest is already in the object store: its run
 * was interrupted before the bookmark, or the database was restored to an earlier state. Null if
 * there is none. Throws ArchiveConflict if it does not match the log.
 */
export async function adoptPart(
  deps: ArchiveDeps,
  tenantId: string,
  first: number,
  end: number,
): Promise<ArchivedPart | null> {
  const { objects } = deps;
  const folder = monthFolder(tenantId, await receivedAtUs(deps, tenantId, first));
  const found = (await objects.list(folder))
    .map(parseArchiveName)
    .filter((name) => name !== null)
    .filter((name) => name.isManifest && name.first === first);
  const [only] = found;
  if (only === undefined) return null;
  const { stem } = only;
  const bytes = await objects.get(namesOfStem(stem).manifest);
  if (found.length > 1 || bytes === null) {
    throw new ArchiveConflict(`${folder} has ${found.length} manifests that begin at ${first}`);
  }
  const manifest = manifestIn(namesOfStem(stem).manifest, bytes);
  await requireSameLog(deps, tenantId, stem, manifest, end);
  await requireFiles(deps, folder, manifest);
  return bookmarkPart(deps, stem, manifest, bytes);
}

async function receivedAtUs({ owner }: ArchiveDeps, tenantId: string, sequence: number) {
  const entry = await owner((tx) => entryAt(tx, tenantId, sequence));
  if (!entry) throw new Error(`the log has no entry ${sequence}`);
  return entry.receivedAtUs;
}

async function requireSameLog(
  { owner, sha }: ArchiveDeps,
  tenantId: string,
  stem: string,
  { tenantId: named, first, last, root }: ArchiveManifest,
  end: number,
): Promise<void> {
  const isNamed = named === tenantId && parseArchiveName(`${stem}.parquet`)?.last === last;
  const holds =
    isNamed &&
    last < end &&
    (await owner((tx) =>
      hasRoot(treeReader(tx, sha, tenantId), sha, last + 1, Buffer.from(root, 'base64')),
    ));
  if (holds) return;
  throw new ArchiveConflict(
    `the archive part ${stem}, from sequence ${first} on, does not match the log: the ` +
      'database was restored from an older backup, or another service writes to this ' +
      `archive. After a restore move this part and all later ones, the files named from ${first} ` +
      'on, to another folder: the next run archives these entries anew',
  );
}

async function requireFiles(
  { objects }: ArchiveDeps,
  folder: string,
  { files }: ArchiveManifest,
): Promise<void> {
  for (const { name, sha256 } of [files.events, files.identity]) {
    const bytes = await objects.get(`${folder}/${name}`);
    if (bytes !== null && sha256Hex(bytes) === sha256) continue;
    const what = bytes === null ? 'is not there' : 'is not the one that its manifest names';
    throw new ArchiveConflict(`${folder}/${name} ${what}: the archive is damaged`);
  }
}
