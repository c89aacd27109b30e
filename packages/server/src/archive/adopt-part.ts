import { decodeEntry, FormatError } from '@indelible/protocol';
import { monthFolder, namesOfStem, parseArchiveName } from '../cold/index.ts';
import { hasRoot, readEntries, treeReader } from '../log/index.ts';
import { archiveEvent } from './archive-event.ts';
import type { ArchiveDeps, ArchivedPart } from './archived-part.ts';
import { type ArchiveManifest, parseManifest } from './manifest.ts';
import { ArchiveConflict, sha256Hex } from './objects-once.ts';
import { insertPart } from './store.ts';

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
  const { owner, objects, recordOwn, now } = deps;
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
  const manifest = readManifest(stem, bytes);
  await requireSameLog(deps, tenantId, stem, manifest, end);
  await requireFiles(deps, folder, manifest);
  const { last, counts, files } = manifest;
  const part = {
    ...{ first, last, stem, events: counts.events, contradicted: counts.contradicted },
    bytes: files.events.bytes + files.identity.bytes,
  };
  await owner(async (tx) => {
    const root = Buffer.from(manifest.root, 'base64');
    await insertPart(tx, { ...part, tenantId, root, archivedAtMs: now() });
    const record = { ...part, manifestSha256: sha256Hex(bytes) };
    await recordOwn(tx, tenantId, archiveEvent(tenantId, record));
  });
  return part;
}

async function receivedAtUs({ owner }: ArchiveDeps, tenantId: string, sequence: number) {
  const [entry] = await owner((tx) =>
    readEntries({ tenantId, query: (query) => tx.query(query) }, sequence, sequence + 1),
  );
  if (!entry) throw new Error(`the log has no entry ${sequence}`);
  return decodeEntry(entry).receivedAtUs;
}

function readManifest(stem: string, bytes: Uint8Array): ArchiveManifest {
  try {
    return parseManifest(bytes);
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    throw new ArchiveConflict(`${namesOfStem(stem).manifest} cannot be read: ${error.message}`);
  }
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
      'archive. docs/archive.md says how to begin a new archive beside it',
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
