import { basename } from 'node:path';
import {
  type CommittedEvent,
  consistencyProof,
  formatBase64,
  formatTimestamp,
  formatVerifierKey,
  parseCheckpoint,
  parseNote,
  rootAtSize,
  timestampOrNull,
} from '@indelible/protocol';
import { type PublishedCheckpoint, signingKeys } from '../log/checkpoint.store.ts';
import { treeReader } from '../log/tree.store.ts';
import type { ObjectStore } from '../objects/object-store.ts';
import { actOf, byService } from '../own-event.ts';
import type { ArchiveDeps, ArchivedPart } from './archived-part.ts';
import { type DraftedPart, draftPart } from './draft-part.ts';
import { monthFolder, parseArchiveName, partNames } from './layout.ts';
import { type ArchiveManifest, archiveFormat, formatManifest } from './manifest.ts';
import { putOnce, sha256Hex } from './part-files.ts';
import {
  type ArchivedTenant,
  erasuresBehind,
  hasNewerRemoval,
  insertPart,
  isHeldBack,
} from './store.ts';

/**
 * Archives the part that begins at `first` and returns it with its bookmark. Null if it must wait:
 * the record of a removal is after the checkpoint, or events may come back from a partition that
 * retention is removing.
 */
export async function makePart(
  deps: ArchiveDeps,
  tenant: ArchivedTenant,
  first: number,
  checkpoint: PublishedCheckpoint,
): Promise<ArchivedPart | null> {
  const { owner, limits, now, thread, threadFrom } = deps;
  const wasHeldBack = await owner(isHeldBack);
  const end = checkpoint.size;
  const wanted = { tenantId: tenant.id, first, end, limits, nowMs: now() };
  const isLarge = end - first >= threadFrom;
  const made = await (isLarge ? thread.draft(wanted) : draftPart(owner, wanted));
  const isWhole = made.draft.events === made.draft.last - first + 1;
  if (!isWhole && (wasHeldBack || (await mustWait(deps, tenant.id, checkpoint)))) return null;
  return store(deps, tenant, { ...made, checkpoint });
}

/** Whether a missing event may come back, or the checkpoint does not cover its removal. */
function mustWait(
  { owner }: ArchiveDeps,
  tenantId: string,
  { size }: PublishedCheckpoint,
): Promise<boolean> {
  return owner(async (tx) => (await isHeldBack(tx)) || hasNewerRemoval(tx, tenantId, size));
}

interface Made extends DraftedPart {
  checkpoint: PublishedCheckpoint;
}

/** This order makes a part complete or absent: its files, then the manifest, then the bookmark. */
async function store(deps: ArchiveDeps, tenant: ArchivedTenant, made: Made): Promise<ArchivedPart> {
  const { objects } = deps;
  const { draft, events, identity } = made;
  const folder = monthFolder(tenant.id, draft.firstReceivedUs);
  const names = partNames(folder, draft);
  await removeLeftovers(objects, folder, draft.first);
  await putOnce(objects, names.events, events);
  await putOnce(objects, names.identity, identity);
  const manifest = await manifestOf(deps, tenant, made, names.stem);
  const bytes = formatManifest(manifest);
  await putOnce(objects, names.manifest, bytes);
  return bookmarkPart(deps, names.stem, manifest, bytes);
}

/** Bookmarks the part of a stored manifest, together with its record in the log. */
export async function bookmarkPart(
  { owner, recordOwn, now }: ArchiveDeps,
  stem: string,
  { tenantId, first, last, counts, files, ...manifest }: ArchiveManifest,
  manifestBytes: Uint8Array,
): Promise<ArchivedPart> {
  const part = {
    first,
    last,
    stem,
    events: counts.events,
    contradicted: counts.contradicted,
    bytes: files.events.bytes + files.identity.bytes,
  };
  const root = Buffer.from(manifest.root, 'base64');
  await owner(async (tx) => {
    await insertPart(tx, { ...part, tenantId, root, archivedAtMs: now() });
    const after = {
      firstSequence: first,
      lastSequence: last,
      events: part.events,
      bytes: part.bytes,
      manifestSha256: sha256Hex(manifestBytes),
    };
    const resource = { type: 'archive', id: tenantId, name: 'Archive' };
    await recordOwn(tx, tenantId, actOf(byService, 'export', resource, { after }));
  });
  return part;
}

/**
 * Removes what an interrupted run left of the part that begins here. It may have other bytes: of a
 * log that has grown since, or of another release.
 */
async function removeLeftovers(objects: ObjectStore, folder: string, first: number) {
  const names = await objects.list(folder);
  const left = names.filter((name) => parseArchiveName(name)?.first === first);
  // A manifest was looked for before: if there is one now, another service wrote this part.
  if (left.some((name) => parseArchiveName(name)?.isManifest)) return;
  for (const name of left) await objects.remove(name);
}

async function manifestOf(
  { owner, sha, now }: ArchiveDeps,
  { id, name, plan, locale, timeZone, legalHold }: ArchivedTenant,
  { draft, checkpoint, events, identity }: Made,
  stem: string,
): Promise<ArchiveManifest> {
  const { first, last } = draft;
  const entries = last - first + 1;
  const { note } = checkpoint;
  const { origin } = parseCheckpoint(parseNote(note).text);
  const { root, consistency, keys, erasures } = await owner(async (tx) => {
    const nodes = treeReader(tx, sha, id);
    const isSame = last + 1 === checkpoint.size;
    // Both run together. Awaited together, because an unhandled rejection would end the process.
    const [root, consistency] = await Promise.all([
      rootAtSize(sha, nodes, last + 1),
      isSame ? [] : consistencyProof(sha, nodes, last + 1, checkpoint.size),
    ]);
    return {
      root,
      consistency,
      keys: await signingKeys(tx),
      erasures: draft.erased === 0 ? [] : await erasuresBehind(tx, id, last),
    };
  });
  const file = (suffix: string, bytes: Uint8Array) => ({
    name: `${basename(stem)}${suffix}.parquet`,
    bytes: bytes.length,
    sha256: sha256Hex(bytes),
  });
  return {
    format: archiveFormat,
    tenantId: id,
    tenant: { name, plan, locale, timeZone, legalHold },
    first,
    last,
    counts: {
      entries,
      events: draft.events,
      absent: entries - draft.events,
      contradicted: draft.contradicted,
    },
    madeAt: formatTimestamp(now()),
    cutoff: timestampOrNull(legalHold ? null : draft.oldestMs),
    files: { events: file('', events), identity: file('-identity', identity) },
    ...(erasures.length === 0 ? {} : { erasures }),
    root: formatBase64(root),
    checkpoint: note,
    consistency: consistency.map(formatBase64),
    keys: keys.map(({ publicKey, notBeforeMs, notAfterMs }) => ({
      vkey: formatVerifierKey(sha, origin, publicKey),
      notBefore: formatTimestamp(notBeforeMs),
      notAfter: timestampOrNull(notAfterMs),
    })),
  };
}

export function isArchiveRecord(event: CommittedEvent): boolean {
  const { action, resourceType, recordedByKind } = event;
  return action === 'export' && resourceType === 'archive' && recordedByKind === 'service';
}
