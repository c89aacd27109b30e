import {
  type Checkpoint,
  createFrontier,
  encodeEntry,
  equalBytes,
  heldClass,
  openCheckpoint,
  parseBase64,
  type Sha256,
  verifyConsistency,
} from '@indelible/protocol';
import { keepLogId } from '../log/reopen.store.ts';
import { type LogHead, planEntries } from '../log/sequencer.ts';
import { appendLogs, openLog } from '../log/store.ts';
import type { Parts } from '../parts.ts';
import type { WriterTx } from '../postgres/db.ts';
import { readPlans } from '../tenants/plans.store.ts';
import { insertTenant } from '../tenants/store.ts';
import { changedSettings } from '../tenants/tenant-settings.ts';
import { type ArchivedRow, decodedEntryOf } from './archived-row.ts';
import type { ArchiveManifest, StatedErasure } from './manifest.ts';
import type { Archive, FoundPart } from './open-archive.ts';
import { ArchiveConflict, manifestIn, unreadable } from './part-files.ts';
import { holdEmpty, insertRestored, setLegalHold } from './restore.store.ts';
import { RestoredRecords, restoredErasure } from './restored-records.ts';

interface RestoreDeps extends Pick<Parts, 'sha' | 'now' | 'recordOwn'> {
  /** Verifier keys from another source; empty: those that the archive states. */
  vkeys: readonly string[];
}

interface Restored {
  tenantId: string;
  name: string;
  /** Entries, and those of them with their event. */
  size: number;
  events: number;
  checkpoint: Checkpoint;
  note: string;
  /** Erasures whose records the archive does not contain. */
  erasures: StatedErasure[];
}

/** A restored tenant, with its log's new id, in its origin. */
export type RestoredTenant = Omit<Restored, 'checkpoint' | 'note' | 'erasures'> & { logId: string };

/**
 * Creates the tenants of an archive in a service without tenants, in the owner's transaction: the
 * same events, sequences, receipt times and salts, so the same entries and roots. Restores nothing
 * that is damaged or contradicts a checkpoint. Logs have their published id when this returns;
 * `reopenLogs` gives them a new one, because there may be checkpoints that are not in the archive.
 */
export async function restoreTenants(
  tx: WriterTx,
  deps: RestoreDeps,
  archive: Archive,
  tenantId: string | null,
): Promise<Restored[]> {
  if (!(await holdEmpty(tx))) {
    throw new ArchiveConflict(
      'the service has tenants; an archive can only be loaded into an empty service',
    );
  }
  const wanted = [...archive.tenants].filter(([id]) => tenantId === null || id === tenantId);
  if (wanted.length === 0) {
    const whose = tenantId === null ? 'there is no archive' : `there is no archive of ${tenantId}`;
    throw new ArchiveConflict(`${whose}: \`indelible archive run\` makes the one of a service`);
  }
  const restored: Restored[] = [];
  for (const [id, parts] of wanted) {
    restored.push(await restoreTenant(tx, deps, archive, id, parts));
  }
  return restored;
}

/** Only settings that are archived: no forged manifest says where the service calls and mails. */
function insertArchivedTenant(
  tx: WriterTx,
  { tenantId: id, tenant }: ArchiveManifest,
  nowMs: number,
) {
  const { name, plan, locale, timeZone, legalHold } = tenant;
  const settings = changedSettings(null, { name, plan, locale, timeZone, legalHold });
  return insertTenant(tx, {
    id,
    externalId: null,
    ...settings,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  });
}

async function restoreTenant(
  tx: WriterTx,
  deps: RestoreDeps,
  archive: Archive,
  tenantId: string,
  parts: readonly FoundPart[],
): Promise<Restored> {
  const manifests: ArchiveManifest[] = [];
  for (const part of parts) manifests.push(await manifestOf(archive, part, tenantId));
  const last = manifests.at(-1);
  if (last === undefined) throw new ArchiveConflict(`the archive of ${tenantId} has no parts`);
  const plan = await archivedPlan(tx, last);
  // The tenant's last state decides the class of all its events.
  const retentionClass = last.tenant.legalHold ? heldClass : plan.class;
  await insertArchivedTenant(tx, last, deps.now());
  await openLog(tx, tenantId, retentionClass);
  let head: LogHead = { ...emptyHead, tenantId, retentionClass };
  let events = 0;
  const records = new RestoredRecords();
  for (const [index, manifest] of manifests.entries()) {
    const part = parts[index];
    if (part === undefined) break;
    await requireNext(archive, part, manifest, head.size);
    for await (const rows of archive.read({ part, manifest })) {
      head = await appendRows(tx, deps.sha, head, rows);
      records.take(rows);
      events += rows.filter(({ body }) => body !== null).length;
    }
    requireRoot(deps.sha, head, part, manifest);
  }
  const checkpoint = await signedOver(deps, last);
  // The published rounds contain its id.
  await keepLogId(tx, tenantId, checkpoint.origin.slice(-32));
  // Manifests are not signed. If the hold was really lifted later, it must be lifted again.
  if (records.underHold && !last.tenant.legalHold) {
    await setLegalHold(tx, tenantId);
    await openLog(tx, tenantId, heldClass);
  }
  const { name } = last.tenant;
  const erasures = records.unrecorded(manifests, head.size);
  return { tenantId, name, size: head.size, events, checkpoint, note: last.checkpoint, erasures };
}

/** Under a smaller plan the next retention run would remove restored events. */
async function archivedPlan(tx: WriterTx, { tenantId, tenant }: ArchiveManifest) {
  const plan = (await readPlans(tx)).find(({ name }) => name === tenant.plan);
  if (plan?.archive) return plan;
  throw new ArchiveConflict(
    `the last manifest of ${tenantId} names the plan ${tenant.plan}, which has no ` +
      'archive here: add it to CATALOGUE_FILE, unless the manifest was changed',
  );
}

const emptyHead = { size: 0, frontier: new Uint8Array(), lastReceivedUs: 0, otherClasses: [] };

async function manifestOf(
  archive: Archive,
  part: FoundPart,
  tenantId: string,
): Promise<ArchiveManifest> {
  const what = `the manifest of ${part.stem}`;
  const bytes = await archive.manifest(part).catch((error) => unreadable(what, error));
  const manifest = manifestIn(what, bytes ?? new Uint8Array());
  const { first, last } = manifest;
  const isNamed = manifest.tenantId === tenantId && first === part.first && last === part.last;
  if (isNamed) return manifest;
  throw new ArchiveConflict(`${what} belongs to another archive part than its name says`);
}

async function requireNext(
  archive: Archive,
  part: FoundPart,
  { files }: ArchiveManifest,
  size: number,
): Promise<void> {
  if (part.first !== size) {
    throw new ArchiveConflict(
      `the archive has a gap or a repetition: ${part.stem} where ${size} should follow`,
    );
  }
  for (const file of [files.events, files.identity]) {
    const state = await archive.check(part, file);
    if (state === 'intact') continue;
    const what = state === 'missing' ? 'is not there' : 'differs from its manifest';
    throw new ArchiveConflict(`${file.name} of ${part.stem} ${what}`);
  }
}

// Events may have 600 KiB each.
const rowsAtOnce = 256;

async function appendRows(
  tx: WriterTx,
  sha: Sha256,
  head: LogHead,
  rows: readonly ArchivedRow[],
): Promise<LogHead> {
  let next = head;
  for (let at = 0; at < rows.length; at += rowsAtOnce) {
    const page = rows.slice(at, at + rowsAtOnce);
    const decoded = page.map((row) => decodedEntryOf(sha, row));
    const isInOrder = page.every(({ sequence, receivedAtUs }, index) => {
      const formerUs = page[index - 1]?.receivedAtUs ?? next.lastReceivedUs;
      return sequence === next.size + index && receivedAtUs >= formerUs;
    });
    // The next round would stop recording for an entry that was received before its predecessor.
    if (!isInOrder)
      throw new ArchiveConflict(`the rows from sequence ${next.size} on are not in order`);
    const receivedUs = decoded.at(-1)?.receivedAtUs ?? next.lastReceivedUs;
    const append = planEntries(sha, next, decoded.map(encodeEntry), receivedUs);
    await appendLogs(tx, [append]);
    await insertRestored(tx, page, head.retentionClass);
    const { newSize: size, frontier } = append;
    next = { ...next, size, frontier, lastReceivedUs: receivedUs };
  }
  return next;
}

function requireRoot(
  sha: Sha256,
  head: LogHead,
  part: FoundPart,
  { last, root }: ArchiveManifest,
): void {
  const isSame = equalBytes(createFrontier(head, sha).root(), parseBase64(root) ?? noHash);
  if (head.size === last + 1 && isSame) return;
  throw new ArchiveConflict(
    `the rows of ${part.stem} do not hash to the root that its manifest names`,
  );
}

const noHash = new Uint8Array();

/** The signed checkpoint at the end of the archive; it must continue the last root. */
async function signedOver(
  { sha, vkeys }: RestoreDeps,
  { checkpoint, keys, root, consistency, last, tenantId }: ArchiveManifest,
): Promise<Checkpoint> {
  const stated = keys.map(({ vkey }) => vkey);
  const opened = await openCheckpoint(sha, checkpoint, vkeys.length > 0 ? vkeys : stated);
  if (opened.code !== 'valid') throw new ArchiveConflict(`tenant ${tenantId}: ${opened.message}`);
  const { size, root: signed } = opened.checkpoint;
  const firstRoot = parseBase64(root) ?? noHash;
  const path = consistency.map((hash) => parseBase64(hash) ?? noHash);
  const claim = { first: last + 1, second: size, firstRoot, secondRoot: signed, path };
  const isSame = size === last + 1 && equalBytes(firstRoot, signed);
  if (isSame || (size > last + 1 && verifyConsistency(sha, claim))) return opened.checkpoint;
  throw new ArchiveConflict(`tenant ${tenantId}: its entries do not match its signed checkpoint`);
}

/** Records erasures that the archive only states; otherwise the log would not verify. */
export async function recordErasures(
  tx: WriterTx,
  { recordOwn }: Pick<RestoreDeps, 'recordOwn'>,
  { tenantId, erasures }: Restored,
): Promise<void> {
  for (const each of erasures) await recordOwn(tx, tenantId, restoredErasure(tenantId, each));
}
