import { firstUuidAt, lateAfterMs, receivedAtUs } from '@indelible/protocol';
import { namesOfStem, tenantFolder } from '../cold/layout.ts';
import { readEntriesOf } from '../log/store.ts';
import type { ArchiveDeps } from './archived-part.ts';
import { coldState, deleteCold, listedObjects, partAt, setColdBefore } from './cold.store.ts';
import { ArchiveConflict, readManifest } from './part-files.ts';
import { listPart } from './part-index.ts';
import { isHeldBack } from './store.ts';

/**
 * Deletes rows below the mark of a former run, and those that an erasure brought back, whatever the
 * plan is now. Readers look at the mark, not at the rows; and what began before the mark moved has
 * ended long ago.
 */
export async function deleteBelowMark(deps: ArchiveDeps, tenantId: string): Promise<void> {
  const { owner, stopping } = deps;
  const state = await owner((tx) => coldState(tx, tenantId));
  if (!state?.coldBefore) return;
  // Else the rows may be the last copy of the events.
  await requireListed(deps, tenantId);
  if (await owner(isHeldBack)) return;
  const { coldBefore } = state;
  while (await owner((tx) => deleteCold(tx, tenantId, coldBefore))) {
    if (stopping?.aborted) return;
  }
}

async function requireListed({ owner, objects }: ArchiveDeps, tenantId: string): Promise<void> {
  const listed = await owner((tx) => listedObjects(tx, tenantId));
  const stored = new Set(await objects.list(tenantFolder(tenantId)));
  const gone = listed.find((name) => !stored.has(name));
  if (gone === undefined) return;
  throw new ArchiveConflict(
    `${gone}, from which older events are read, is not in the object store. If the database was ` +
      'restored from a backup that is older than an erasure, repeat the erasure with ' +
      '`indelible erase`; otherwise restore the object',
  );
}

/**
 * Lets events of a tenant leave PostgreSQL that are older than `hotMonths` and whose archive is
 * complete, after `deleteBelowMark`. Each step is a transaction, in this order:
 *
 * 1. Further parts of the archive are read back, compared with the log, and listed in
 *    `cold_parts`.
 * 2. The mark moves. From this commit on, older events are read from these parts only.
 *
 * A crash anywhere leaves rows that nothing reads, or parts that nothing reads yet; the next run
 * continues. Late events stay in PostgreSQL. Throws ArchiveConflict if the archive is not complete.
 */
export async function moveCold(
  deps: ArchiveDeps,
  tenantId: string,
  hotMonths: number,
): Promise<void> {
  const { owner, now, stopping } = deps;
  const state = await owner((tx) => coldState(tx, tenantId));
  // While retention detaches a partition, the check for missing events would not see its rows.
  if (state === null || (await owner(isHeldBack))) return;
  const { coldBefore } = state;
  const wantedMs = monthsBefore(now(), hotMonths);
  let verified = state.verified;
  for (;;) {
    if (stopping?.aborted) return;
    const endMs = await receivedMs(deps, tenantId, verified);
    if (endMs === null || endMs >= wantedMs + lateAfterMs) break;
    const part = await owner((tx) => partAt(tx, tenantId, verified));
    if (part === null) break;
    const { manifest: name } = namesOfStem(part.stem);
    const manifest = await readManifest(deps.objects, name);
    await listPart(deps, name, manifest);
    verified = manifest.last + 1;
  }
  const complete = Math.min(verified, state.indexed);
  const endMs = (await receivedMs(deps, tenantId, complete)) ?? now();
  // An event that is not late was received at most a day after its time.
  const mark = firstUuidAt(monthOfMs(Math.min(wantedMs, endMs - lateAfterMs)));
  if (complete > 0 && mark > (coldBefore ?? ''))
    await owner((tx) => setColdBefore(tx, tenantId, mark));
}

/** The start of a month, so many months ago. */
function monthsBefore(nowMs: number, months: number): number {
  const now = new Date(nowMs);
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months);
}

function monthOfMs(ms: number): number {
  return monthsBefore(Math.max(0, ms), 0);
}

async function receivedMs({ owner }: ArchiveDeps, tenantId: string, sequence: number) {
  const read = owner((tx) => readEntriesOf(tx, tenantId, sequence, sequence + 1));
  const [receivedUs = null] = (await read).map(receivedAtUs);
  return receivedUs && receivedUs / 1_000;
}
