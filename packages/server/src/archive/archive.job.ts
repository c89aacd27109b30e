import { setTimeout as yieldToOthers } from 'node:timers/promises';
import type { Sha256 } from '@indelible/protocol';
import { type PublishedCheckpoint, publishedCheckpoint } from '../log/checkpoint.store.ts';
import { hasRoot } from '../log/guard.store.ts';
import { tenantIn, type WriterTx } from '../postgres/db.ts';
import { findingOf, messageOf } from '../postgres/embedded/error-code.ts';
import type { ArchiveDeps, ArchivedPart } from './archived-part.ts';
import { type ArchiveName, namesOfStem, parseArchiveName, tenantFolder } from './layout.ts';
import { bookmarkPart, isArchiveRecord, makePart } from './make-part.ts';
import type { ArchiveManifest } from './manifest.ts';
import { ArchiveConflict, manifestBytes, manifestIn, withPart } from './part-files.ts';
import { type ArchivedTenant, archivedTenants, eachEntry, lastPart, shownOf } from './store.ts';

export interface TenantArchive {
  tenantId: string;
  /** The parts added by this run. */
  parts: ArchivedPart[];
  /** Archived entries, from the first of the log. */
  size: number;
  /** Why the archive of this tenant stopped, or null. */
  problem: string | null;
  /** Whether the next part waits for retention to finish a removal. */
  waits: boolean;
}

/**
 * Archives everything below a published checkpoint in closed months, for every tenant whose plan
 * has an archive, or for one. Each part takes four steps: its two files, its manifest, then its
 * bookmark together with its record in the log. After an interruption the next run continues: files
 * without a manifest are made again, a manifest without a bookmark is bookmarked. A problem of one
 * tenant does not stop the others.
 */
export async function archiveTenants(
  deps: ArchiveDeps,
  tenantId: string | null,
): Promise<TenantArchive[]> {
  const outcomes: TenantArchive[] = [];
  for (const tenant of await deps.owner((tx) => archivedTenants(tx, tenantId))) {
    if (deps.stopping?.aborted) break;
    const outcome: TenantArchive = { tenantId: tenant.id, ...untouched, parts: [] };
    await archiveTenant(deps, tenant, outcome).catch((error: unknown) => {
      outcome.problem = findingOf(error) ?? messageOf(error);
    });
    outcomes.push(outcome);
  }
  return outcomes;
}

const untouched = { size: 0, problem: null, waits: false };

async function archiveTenant(
  deps: ArchiveDeps,
  tenant: ArchivedTenant,
  outcome: TenantArchive,
): Promise<void> {
  const checkpoint = await deps.owner((tx) => closedPart(tx, deps.sha, tenant.id));
  const last = await deps.owner((tx) => lastPart(tx, tenant.id));
  outcome.size = last === null ? 0 : last.last + 1;
  if (checkpoint === null) return;
  if (last !== null) await requireContinuation(deps, tenant.id, last);
  const left = outcome.size < checkpoint.size ? await partsBehind(deps, tenant.id, last) : [];
  while (outcome.size < checkpoint.size) {
    const next = outcome.size;
    if (deps.stopping?.aborted) return;
    const adopted = await adoptPart(deps, tenant.id, next, left, checkpoint.size);
    if (adopted === null && (await isOnlyRecords(deps, tenant.id, next, checkpoint.size))) return;
    const part = adopted ?? (await makePart(deps, tenant, next, checkpoint));
    outcome.waits = part === null;
    if (part === null) return;
    outcome.parts.push(part);
    outcome.size = part.last + 1;
    await yieldToOthers(0); // lets recording in this process go first
  }
}

/** The last published checkpoint; null before the first, or if the log contradicts it. */
async function closedPart(
  tx: WriterTx,
  sha: Sha256,
  tenantId: string,
): Promise<PublishedCheckpoint | null> {
  const log = await publishedCheckpoint(tenantIn(tx, tenantId));
  const checkpoint = log?.checkpoint ?? null;
  if (checkpoint === null || (await hasRoot(tx, sha, tenantId, checkpoint))) return checkpoint;
  throw new ArchiveConflict('the log does not match its last signed checkpoint');
}

/** After a restored backup the log may lack archived entries, or contain others instead. */
async function requireContinuation(
  { owner, sha }: ArchiveDeps,
  tenantId: string,
  { last, root }: { last: number; root: Buffer },
): Promise<void> {
  const holds = await owner((tx) => hasRoot(tx, sha, tenantId, { size: last + 1, root }));
  if (holds) return;
  throw new ArchiveConflict(
    `the log does not continue its ${last + 1} archived entries: the database was ` +
      'restored from an older backup. docs/archive.md says how to begin a new archive ' +
      'beside it',
  );
}

const recordsMax = 512;

/** Whether only records of archiving are new: they do not justify another part. */
async function isOnlyRecords(
  { owner, now }: ArchiveDeps,
  tenantId: string,
  start: number,
  end: number,
): Promise<boolean> {
  if (end - start > recordsMax) return false;
  let isOnly = true;
  await owner(async (tx) => {
    const { oldest } = await shownOf(tx, tenantId, now());
    await eachEntry(tx, tenantId, { start, end, oldest }, (_sequence, _entry, body) => {
      isOnly &&= body !== null && isArchiveRecord(body.event);
    });
  });
  return isOnly;
}

/**
 * The parts in the object store that have no bookmark. Of all months since the last that has one:
 * after a restore the log may have other entries than the archive, which were received later.
 */
async function partsBehind(
  { objects }: ArchiveDeps,
  tenantId: string,
  last: { last: number; stem: string } | null,
) {
  const after = last === null ? '' : namesOfStem(last.stem).manifest;
  const names = (await objects.list(tenantFolder(tenantId), after)).map(parseArchiveName);
  const parts = names.filter((name) => name !== null).filter(({ isManifest }) => isManifest);
  return parts.filter(({ first }) => first > (last?.last ?? -1)).sort((a, b) => a.first - b.first);
}

/**
 * Bookmarks the part from `next` on whose manifest was found in the object store: its run was
 * interrupted before the bookmark, or the database was restored to an earlier state. Null if none
 * is `left`. Throws ArchiveConflict if it does not match the log, or if there are only later ones:
 * the run would make a part that they repeat.
 */
async function adoptPart(
  deps: ArchiveDeps,
  tenantId: string,
  next: number,
  left: readonly ArchiveName[],
  end: number,
): Promise<ArchivedPart | null> {
  const { objects } = deps;
  const found = left.filter(({ first }) => first === next);
  const [only] = found;
  if (only === undefined) {
    const later = left.find(({ first }) => first > next);
    if (later !== undefined) throw otherLog(later);
    return null;
  }
  const { stem } = only;
  if (found.length > 1)
    throw new ArchiveConflict(`${found.length} manifests begin where that of ${stem} does`);
  const name = namesOfStem(stem).manifest;
  const bytes = await manifestBytes(objects, name);
  const manifest = manifestIn(name, bytes);
  await requireSameLog(deps, tenantId, only, manifest, end);
  return withPart(deps, name, manifest, () => bookmarkPart(deps, stem, manifest, bytes));
}

async function requireSameLog(
  { owner, sha }: ArchiveDeps,
  tenantId: string,
  part: ArchiveName,
  { tenantId: named, last, root }: ArchiveManifest,
  end: number,
): Promise<void> {
  const holds =
    named === tenantId &&
    last === part.last &&
    last < end &&
    (await owner((tx) =>
      hasRoot(tx, sha, tenantId, { size: last + 1, root: Buffer.from(root, 'base64') }),
    ));
  if (!holds) throw otherLog(part);
}

function otherLog({ stem, first }: ArchiveName): ArchiveConflict {
  return new ArchiveConflict(
    `the archive part ${stem}, from sequence ${first} on, does not match the log: the ` +
      'database was restored from an older backup, or another service writes to this ' +
      `archive. After a restore move this part and all later ones, the files named from ${first} ` +
      'on in the folders of all months, to another folder: the next run archives these entries anew',
  );
}
