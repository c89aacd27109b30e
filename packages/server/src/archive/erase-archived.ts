import { dirname } from 'node:path';
import { Readable } from 'node:stream';
import { emptiedSegment, eventIdFromUuid, personIds, segmentNames } from '@indelible/protocol';
import { withoutSegment } from '../events/prepared-event.ts';
import type { ObjectStore } from '../objects/object-store.ts';
import type { ArchiveDeps } from './archived-part.ts';
import type { ArchivedRow } from './archived-row.ts';
import { openPartWriter } from './draft-part.ts';
import { parseArchiveName, tenantFolder } from './layout.ts';
import { type ArchiveManifest, formatManifest, type StatedErasure } from './manifest.ts';
import { ArchiveConflict, putOnce, readManifest, sha256Hex, withPart } from './part-files.ts';

/** What leaves the archive of a tenant; `events` are UUIDs here, in a manifest TypeIDs. */
export interface ArchiveErasure extends StatedErasure {
  tenantId: string;
}

export type EraseArchivedDeps = Pick<ArchiveDeps, 'sha' | 'objects' | 'tmpDir'>;

/**
 * Removes a segment of events from a tenant's archive; nothing else ever replaces archived files.
 * Writes a new file beside the former one, replaces the manifest by one that names it and states
 * the erasure, and removes the former file. After an interruption the same call finishes it. The
 * session must hold the archive lock. Throws ArchiveConflict if the archive cannot be read. Returns
 * the number of changed events.
 */
export async function eraseArchived(
  deps: EraseArchivedDeps,
  erasure: ArchiveErasure,
): Promise<number> {
  const { objects } = deps;
  const names = await objects.list(tenantFolder(erasure.tenantId));
  const manifests = await manifestsAmong(objects, names);
  await removeUnnamed(objects, names, manifests);
  let count = 0;
  for (const [name, manifest] of manifests) {
    if (manifest.first < erasure.size) count += await eraseInSegment(deps, erasure, name, manifest);
  }
  return count;
}

async function manifestsAmong(
  objects: ObjectStore,
  names: readonly string[],
): Promise<Map<string, ArchiveManifest>> {
  const manifests = new Map<string, ArchiveManifest>();
  for (const name of names.filter((each) => parseArchiveName(each)?.isManifest))
    manifests.set(name, await readManifest(objects, name));
  return manifests;
}

/** Files without a manifest are left from interrupted runs, and may contain erased values. */
async function removeUnnamed(
  objects: ObjectStore,
  names: readonly string[],
  manifests: ReadonlyMap<string, ArchiveManifest>,
): Promise<void> {
  const named = new Set(
    [...manifests].flatMap(([name, { files }]) =>
      [files.events, files.identity].map((file) => `${dirname(name)}/${file.name}`),
    ),
  );
  for (const name of names) {
    if (name.endsWith('.parquet') && !named.has(name)) await objects.remove(name);
  }
}

async function eraseInSegment(
  deps: EraseArchivedDeps,
  erasure: ArchiveErasure,
  manifestName: string,
  manifest: ArchiveManifest,
): Promise<number> {
  const written = await withPart(deps, manifestName, manifest, async (rows) => {
    let count = 0;
    for await (const page of rows()) count += page.filter((row) => isMeant(row, erasure)).length;
    if (count === 0) return null;
    const writer = await openPartWriter();
    for await (const page of rows()) {
      for (const row of page) writer.append(erased(deps, erasure, row));
    }
    return { count, ...writer.end() };
  });
  if (written === null) return 0;
  const { objects } = deps;
  const kind = erasure.segment === 'identity' ? 'identity' : 'events';
  const bytes = written[kind];
  const file = { name: nextName(manifest.files[kind].name), bytes: bytes.length };
  const files = { ...manifest.files, [kind]: { ...file, sha256: sha256Hex(bytes) } };
  await putOnce(objects, `${dirname(manifestName)}/${file.name}`, bytes);
  const erasures = [...(manifest.erasures ?? []), statementOf(erasure)];
  const replaced = { ...manifest, files, erasures };
  await objects.putStream(manifestName, Readable.from([formatManifest(replaced)]));
  await objects.remove(`${dirname(manifestName)}/${manifest.files[kind].name}`);
  return written.count;
}

/** Stated in the manifest, because the log's own record comes after the archived entries. */
function statementOf({ segment, actors, events, size }: ArchiveErasure): StatedErasure {
  return { segment, actors, events: events.map(eventIdFromUuid), size };
}

function erased(
  { sha }: EraseArchivedDeps,
  erasure: ArchiveErasure,
  row: ArchivedRow,
): ArchivedRow {
  const { body } = row;
  if (body === null || !isMeant(row, erasure)) return row;
  const left = withoutSegment(sha, body.event, body, erasure.segment);
  const event = { ...body.event, ...emptiedSegment(erasure.segment) };
  return left === null ? row : { ...row, body: { event, ...left } };
}

/** An operator's identity stays, unless one of their events is named. */
function isMeant(
  { sequence, uuid, body }: ArchivedRow,
  { size, actors, events, segment }: ArchiveErasure,
): boolean {
  if (body === null || sequence >= size || !body.salts[segmentNames.indexOf(segment)]) return false;
  if (events.includes(uuid)) return true;
  if (body.event.actorRole === 'superadmin') return false;
  return personIds(body.event).some((id) => actors.includes(id));
}

/**
 * `…-identity.parquet`, then `…-r2-identity.parquet`, and so on: names that patterns of readers
 * match.
 */
function nextName(name: string): string {
  const [, range = '', revision = '1', rest = ''] =
    /^(\d+-\d+)(?:-r(\d+))?(-identity)?\.parquet$/.exec(name) ?? [];
  if (range === '') throw new ArchiveConflict(`${name} is no name of the archive's`);
  return `${range}-r${Number(revision) + 1}${rest}.parquet`;
}
