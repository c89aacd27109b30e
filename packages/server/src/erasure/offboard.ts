import { counted, uuidTimeMs } from '@indelible/protocol';
import { tenantFolder } from '../archive/layout.ts';
import { forgetParts } from '../archive/store.ts';
import { publishedCheckpoint } from '../log/checkpoint.store.ts';
import { lockHeads } from '../log/store.ts';
import { type OwnerSession, tenantIn, type WriterTx } from '../postgres/db.ts';
import {
  type ErasureDeps,
  ErasureRefused,
  removeFiles,
  requireNoHold,
  takeErasureLock,
} from './erase.ts';
import { type BundleFacts, offboardingEvent, type Requester } from './erasure-event.ts';
import {
  closeLog,
  eventFacts,
  finishOffboarding,
  insertOffboarding,
  type Offboarding,
  readOffboarding,
  removeBelongings,
  removeEvents,
  removeRest,
} from './offboard.store.ts';

/**
 * Offboards a tenant whose bundle was made. The order, and what a crash leaves:
 * 1. one transaction: only the service itself has recorded since the bundle; the log accepts no
 *   more events; keys, sessions, searches and restores are deleted; the log records the offboarding
 * 2. the events are deleted, batch by batch, then files and archive: each run of this command
 *   continues it
 * Entries, tiles and checkpoints remain. Throws ErasureRefused under legal hold, while retention is
 * working, and for an incomplete bundle.
 */
export async function offboard(
  owner: OwnerSession,
  deps: ErasureDeps,
  { tenantId, bundle, ...requester }: { tenantId: string; bundle: BundleFacts } & Requester,
): Promise<Offboarding> {
  await takeErasureLock(owner);
  const begun = await readOffboarding(owner, tenantId);
  if (begun === null) {
    await owner.transaction((tx) => leave(tx, deps, { tenantId, bundle, requester }));
  }
  return finish(owner, deps, tenantId);
}

interface Leave {
  tenantId: string;
  bundle: BundleFacts;
  requester: Requester;
}

async function leave(tx: WriterTx, deps: ErasureDeps, { tenantId, bundle, requester }: Leave) {
  await requireNoHold(tx, tenantId);
  const belongings = await removeBelongings(tx, tenantId, deps.now());
  const [head] = await lockHeads(tx, [tenantId], true);
  if (!head) throw new ErasureRefused('the tenant has no log');
  const { count, newest, since } = await eventFacts(tx, tenantId, bundle.size);
  const log = await publishedCheckpoint(tenantIn(tx, tenantId));
  const isOwn = bundle.origin.endsWith(`/l/${log?.logId.replaceAll('-', '')}`);
  if (!isOwn || bundle.size > head.size)
    throw new ErasureRefused('the bundle belongs to another log');
  if (since > 0) {
    throw new ErasureRefused(
      `${counted(since, 'event was', 'events were')} recorded since the bundle was made: stop recording, and make ` +
        'a new bundle',
    );
  }
  const nowMs = deps.now();
  // Times of events may be minutes ahead of the clock.
  const cutoffMs = Math.max(nowMs, newest === null ? 0 : uuidTimeMs(newest)) + 1;
  const size = head.size;
  await deps.recordOwn(
    tx,
    tenantId,
    offboardingEvent({ tenantId, size, count, cutoffMs, bundle }, requester),
  );
  await closeLog(tx, tenantId, nowMs);
  await insertOffboarding(tx, {
    tenantId,
    size,
    record: size,
    reason: requester.reason,
    bundle,
    counts: { events: count, ...belongings },
    closedAtMs: nowMs,
    finishedAtMs: null,
  });
}

async function finish(
  owner: OwnerSession,
  deps: ErasureDeps,
  tenantId: string,
): Promise<Offboarding> {
  const begun = await readOffboarding(owner, tenantId);
  if (begun === null) throw new Error('an offboarding is gone');
  if (begun.finishedAtMs !== null) return begun;
  for (let removed = 1; removed > 0; ) {
    deps.betweenBatches?.();
    removed = await owner.transaction(async (tx) => {
      await requireNoHold(tx, tenantId);
      return removeEvents(tx, tenantId, begun.size);
    });
  }
  await removeFiles(owner, deps, tenantId);
  await removeObjects(owner, deps, tenantId);
  const finishedAtMs = deps.now();
  await owner.transaction(async (tx) => {
    await removeRest(tx, tenantId);
    await finishOffboarding(tx, tenantId, finishedAtMs);
  });
  return { ...begun, finishedAtMs };
}

async function removeObjects(owner: OwnerSession, { objects }: ErasureDeps, tenantId: string) {
  for (const folder of [`exports/${tenantId}`, tenantFolder(tenantId)]) {
    for (const name of await objects.list(folder)) await objects.remove(name);
  }
  await owner.transaction((tx) => forgetParts(tx, tenantId));
}
