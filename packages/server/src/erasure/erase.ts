import {
  emptiedSegment,
  firstUuidAt,
  type Sha256,
  type WithholdableSegment,
} from '@indelible/protocol';
import { eraseArchived } from '../archive/erase-archived.ts';
import { openersOf, storedOpeners, withoutSegment } from '../events/prepared-event.ts';
import { objectName } from '../exports/file/export-file.ts';
import { lockHeads } from '../log/store.ts';
import type { Parts } from '../parts.ts';
import type { OwnerSession, Queries, WriterTx } from '../postgres/db.ts';
import { lockTerms, takeRetentionLock } from '../retention/terms.store.ts';
import { eraseWords } from '../words/forget-words.ts';
import {
  type Elsewhere,
  eraseElsewhere,
  expireFiles,
  fileRemoved,
  isRestoring,
} from './elsewhere.store.ts';
import { erasureEvent, type Requester } from './erasure-event.ts';
import { deleteQueries, findNamedQueries, type NamedQueries } from './named-queries.store.ts';
import {
  type ErasableEvent,
  type ErasedEvent,
  type Erasure,
  eraseSegments,
  finishErasure,
  hasDetachedPartitions,
  insertErasure,
  type KnownActor,
  type Mentions,
  nextErasable,
  unfinishedErasures,
} from './store.ts';

export interface ErasureDeps
  extends Pick<Parts, 'sha' | 'now' | 'newUuid' | 'recordOwn' | 'objects'> {
  /** Makes the folder for temporary files of the archive. */
  tmpDir: () => Promise<string>;
  /** Called between two batches, for tests. */
  betweenBatches?: () => void;
}

/** What changes the tenant's archive. */
const archiveIn = async ({ sha, objects, tmpDir }: ErasureDeps) => {
  return { sha, objects, tmpDir: await tmpDir() };
};

export interface Erased {
  tenantId: string;
  /** The erasures of this run, including unfinished ones of earlier runs. */
  erasures: { id: string; segment: WithholdableSegment; events: number }[];
  /** Removed export files. */
  files: number;
  /** Stored queries that named the person, and are deleted. */
  deleted: NamedQueries | null;
}

/** What an erasure would do, and what would remain. */
export interface ErasurePlan {
  tenantId: string;
  segment: WithholdableSegment;
  /** Actors whose identity would be erased. */
  actors: KnownActor[];
  /** Addresses under which they acted, in lower case. */
  addresses: string[];
  /** The host product's own ids of them. */
  ownIds: string[];
  /** UUIDs of single events. */
  events: string[];
  legalHold: boolean;
  /** Export files to remove, because they may contain erased values. */
  files: number;
  /** For a person: data outside the events, to be removed. */
  elsewhere: Elsewhere | null;
  /** For a person: stored queries that name them, to be deleted; an export loses its query. */
  named: NamedQueries | null;
  /** For a person: events that name them elsewhere, and stay unchanged. */
  mentions: Mentions | null;
  /** The tenant's notices go to the person; only the tenant can change that. */
  isNotified: boolean;
  /** Unfinished erasures of earlier runs, which this run continues. */
  unfinished: number;
}

/** Why nothing can be erased now, as a sentence for the operator. */
export class ErasureRefused extends Error {}

// The erasure's record lists them; 36 characters each.
const eventsPerRecord = 2_000;

/**
 * Erases what the plan names. The order, and what a crash leaves at each step:
 * 1. one transaction: the records in the log, the erasure as a task, and the person's data outside
 *   the events; a crash before it leaves everything unchanged
 * 2. the events, batch by batch; from here on every run of this command continues it
 * 3. export files, then the archive: only now no process can write the erased values again
 * 4. the task is marked as finished
 * Throws ErasureRefused under legal hold, while retention is working, and before step 4 while a
 * restore is in progress, because every attempt sends the host product the same body.
 */
export async function erase(
  owner: OwnerSession,
  deps: ErasureDeps,
  plan: ErasurePlan,
  requester: Requester,
): Promise<Erased> {
  await takeErasureLock(owner);
  const deleted = await owner.transaction((tx) => beginErasure(tx, deps, plan, requester));
  return { ...(await finishErasures(owner, deps, plan.tenantId)), deleted };
}

/** Takes retention's lock: an erasure cannot reach partitions that retention detaches. */
export async function takeErasureLock(owner: OwnerSession): Promise<void> {
  if (!(await takeRetentionLock(owner))) {
    throw new ErasureRefused('retention or another erasure is running: retry when it has finished');
  }
  await requireInSight(owner);
}

/** Rows of detached partitions are invisible: an erasure would miss them. */
export async function requireInSight(owner: Queries): Promise<void> {
  if (!(await hasDetachedPartitions(owner))) return;
  throw new ErasureRefused(
    'retention is removing a partition, or was interrupted, so some events cannot be ' +
      'read: run `indelible retention run` first',
  );
}

/** Locks the tenant's row: a hold placed later is too late. */
export async function requireNoHold(tx: WriterTx, tenantId: string): Promise<void> {
  const terms = await lockTerms(tx, tenantId);
  if (terms === null) throw new ErasureRefused(`there is no tenant ${tenantId}`);
  if (terms.legalHold) {
    throw new ErasureRefused(
      'the tenant is under legal hold, so nothing of it can be erased: lift the hold first',
    );
  }
}

async function beginErasure(
  tx: WriterTx,
  deps: ErasureDeps,
  plan: ErasurePlan,
  requester: Requester,
): Promise<NamedQueries | null> {
  const { tenantId, segment } = plan;
  await requireNoHold(tx, tenantId);
  const named = segment === 'identity' ? await erasePerson(tx, deps, plan) : null;
  await expireFiles(tx, tenantId, deps.now());
  // The log's head is locked last, as everywhere: its holder never waits for another lock.
  for (const part of partsOf(plan)) {
    const [head] = await lockHeads(tx, [tenantId], true);
    if (!head) throw new ErasureRefused('the tenant has no log');
    const nowMs = deps.now();
    const id = deps.newUuid(nowMs);
    const erasure = { tenantId, id, segment, ...part, size: head.size };
    await insertErasure(tx, erasure, nowMs);
    const ofActors = plan.actors.reduce((sum, actor) => sum + actor.count, 0);
    const count = part.events.length || ofActors;
    await deps.recordOwn(tx, tenantId, erasureEvent(erasure, count, named, requester));
  }
  return named;
}

/** The person's data outside the events. Returns the deleted queries. */
async function erasePerson(
  tx: WriterTx,
  { now }: ErasureDeps,
  { tenantId, addresses, ownIds, ...plan }: ErasurePlan,
): Promise<NamedQueries> {
  const person = { tenantId, actors: plan.actors.map(({ id }) => id), addresses, ownIds };
  // Again: one may have been stored since the plan.
  const named = await findNamedQueries(tx, person);
  await deleteQueries(tx, tenantId, named, now());
  await eraseElsewhere(tx, person);
  return named;
}

/** Actors, then named events in groups for one record each. */
function partsOf({ actors, events }: ErasurePlan): Pick<Erasure, 'actors' | 'events'>[] {
  const groups = Array.from({ length: Math.ceil(events.length / eventsPerRecord) }, (_, nth) =>
    events.slice(nth * eventsPerRecord, (nth + 1) * eventsPerRecord),
  );
  const named = groups.map((group) => ({ actors: [], events: group }));
  return actors.length === 0
    ? named
    : [{ actors: actors.map(({ id }) => id), events: [] }, ...named];
}

async function finishErasures(
  owner: OwnerSession,
  deps: ErasureDeps,
  tenantId: string,
): Promise<Omit<Erased, 'deleted'>> {
  const erased = { tenantId, erasures: [] as Erased['erasures'], files: 0 };
  for (const erasure of await unfinishedErasures(owner, tenantId)) {
    const events = await eraseBatches(owner, deps, erasure);
    // Again: a file may have been finished meanwhile, from pages read before the erasure.
    const files = await removeFiles(owner, deps, tenantId);
    await eraseArchived(await archiveIn(deps), erasure);
    if (await isRestoring(owner, tenantId)) throw new ErasureRefused(restoring);
    await owner.transaction((tx) => finishErasure(tx, erasure, deps.now()));
    erased.erasures.push({ id: erasure.id, segment: erasure.segment, events });
    erased.files += files;
  }
  return erased;
}

const restoring =
  'a restore of the tenant is pending, and its call may contain the erased data. While ' +
  'the service runs, it ends within minutes: then run the command again';

/** Removes every export file of the tenant; returns how many. */
export async function removeFiles(
  owner: OwnerSession,
  { now, objects }: ErasureDeps,
  tenantId: string,
): Promise<number> {
  const files = await owner.transaction((tx) => expireFiles(tx, tenantId, now()));
  for (const file of files) {
    await objects.remove(objectName(file));
    await owner.transaction((tx) => fileRemoved(tx, file));
  }
  return files.length;
}

async function eraseBatches(
  owner: OwnerSession,
  { sha, betweenBatches }: ErasureDeps,
  erasure: Erasure,
): Promise<number> {
  let count = 0;
  for (let after = firstUuidAt(0); ; ) {
    betweenBatches?.();
    const rows = await owner.transaction(async (tx) => {
      await requireNoHold(tx, erasure.tenantId);
      const next = await nextErasable(tx, erasure, after);
      const erased = emptiedSegment(erasure.segment);
      const events = next.map((before) => ({ ...before, before, after: { ...before, ...erased } }));
      await eraseWords(tx, erasure.tenantId, events);
      const rows = next.map((row) => erasedOf(sha, row, erasure.segment));
      count += await eraseSegments(tx, erasure, rows);
      return next;
    });
    const last = rows.at(-1);
    if (!last) return count;
    after = last.uuid;
  }
}

function erasedOf(sha: Sha256, row: ErasableEvent, segment: WithholdableSegment): ErasedEvent {
  const left = withoutSegment(sha, row, openersOf(row), segment);
  if (left === null) throw new Error(`event ${row.uuid} has no ${segment} to erase`);
  const { salts, erased } = storedOpeners(left);
  return { uuid: row.uuid, retentionClass: row.retentionClass, salts, erased: erased ?? '{}' };
}
