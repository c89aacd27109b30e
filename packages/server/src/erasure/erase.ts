import {
  type CommittedEvent,
  firstUuidAt,
  type Sha256,
  segmentHash,
  segmentNames,
  segmentTexts,
  type WithholdableSegment,
} from '@indelible/protocol';
import { openersOf, storedOpeners } from '../events/index.ts';
import { lockHeads } from '../log/index.ts';
import type { RecordOwn } from '../own-event.ts';
import type { OwnerSession, WriterTx } from '../postgres/index.ts';
import { lockTerms, type Owner, takeRetentionLock } from '../retention/index.ts';
import {
  type Elsewhere,
  type ExportFile,
  eraseElsewhere,
  expireFiles,
  fileRemoved,
  isRestoring,
} from './elsewhere.store.ts';
import { erasureEvent, type Requester } from './erasure-event.ts';
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

export interface ErasureDeps {
  sha: Sha256;
  now: () => number;
  newUuid: (timeMs: number) => string;
  /** Records within a transaction of the session. */
  recordOwn: RecordOwn;
  /** Removes the file of an export from the object store, if there is one. */
  removeFile: (file: ExportFile) => Promise<void>;
  /**
   * Takes what the erasure is about out of the tenant's archive as well. Called when nothing that
   * is still to be archived has it any more, again after a crash, until the erasure is finished.
   */
  eraseArchived: (erasure: Erasure) => Promise<void>;
  /** Called between two batches, for tests. */
  betweenBatches?: () => void;
}

/** What an erasure came to. */
export interface Erased {
  tenantId: string;
  /** Those of this run, and those that an earlier run was kept from finishing. */
  erasures: { id: string; segment: WithholdableSegment; events: number }[];
  /** Export files that are gone. */
  files: number;
}

/** What an erasure would do, and what it would leave. */
export interface ErasurePlan {
  tenantId: string;
  segment: WithholdableSegment;
  /** Whose identity goes. */
  actors: KnownActor[];
  /** Addresses they have acted under, in lower case. */
  addresses: string[];
  /** Events that are named one by one: UUIDs. */
  events: string[];
  legalHold: boolean;
  /** Files of exports that go, as they may hold what is erased. */
  files: number;
  /** Of a person: what names them beside the events, and goes. */
  elsewhere: Elsewhere | null;
  /** Of a person: events that name them otherwise, and stay as they are. */
  mentions: Mentions | null;
  /** Notices of the tenant go to the person; that is for the tenant to change. */
  isNotified: boolean;
  /** Erasures that an earlier run was kept from finishing, and this one goes on with. */
  unfinished: number;
}

/** Why nothing can be erased now, in a sentence for the operator. */
export class ErasureRefused extends Error {}

// The record of an erasure lists them; 36 characters each.
const eventsPerRecord = 2_000;

/**
 * Erases what the plan says. Order, and what a crash leaves behind at each step:
 *  1. one transaction: the record in the log, the erasure itself as a task, and everything that
 *     names the person beside the events; a crash before it leaves everything as it was
 *  2. the events, batch by batch; from here on every run of this command, for whatever, goes on
 *     with it
 *  3. files of exports, then the archive: only now nothing can be made that still has it
 *  4. the task is marked as finished
 * Throws ErasureRefused under legal hold, while retention is at work, and before 4 while a restore
 * is under way: the host product is sent the same body at every attempt.
 */
export async function erase(
  owner: OwnerSession,
  deps: ErasureDeps,
  plan: ErasurePlan,
  requester: Requester,
): Promise<Erased> {
  await takeErasureTurn(owner);
  await owner.transaction((tx) => beginErasure(tx, deps, plan, requester));
  return finishErasures(owner, deps, plan.tenantId);
}

/** Goes on with erasures of the tenant that an earlier run was kept from finishing. */
export async function resumeErasures(
  owner: OwnerSession,
  deps: ErasureDeps,
  tenantId: string,
): Promise<Erased> {
  await takeErasureTurn(owner);
  return finishErasures(owner, deps, tenantId);
}

/** Retention moves events and takes partitions away: what it has in hand nobody else can reach. */
export async function takeErasureTurn(owner: OwnerSession): Promise<void> {
  if (!(await takeRetentionLock(owner))) {
    throw new ErasureRefused('retention or another erasure is running: retry when it has finished');
  }
  await requireInSight(owner);
}

/** What retention has in hand nobody sees: a look would find too little, or nothing. */
export async function requireInSight(owner: Owner): Promise<void> {
  if (!(await hasDetachedPartitions(owner))) return;
  throw new ErasureRefused(
    'retention is removing a partition, or was interrupted, so some events cannot be ' +
      'read: run `indelible retention run` first',
  );
}

/** The tenant's row is locked against changes; a hold that is placed later comes too late. */
export async function requireNoHold(tx: WriterTx, tenantId: string): Promise<void> {
  const terms = await lockTerms(tx, tenantId);
  if (terms === null) throw new ErasureRefused('there is no such tenant');
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
): Promise<void> {
  const { tenantId, segment, addresses } = plan;
  await requireNoHold(tx, tenantId);
  const ids = plan.actors.map(({ id }) => id);
  const person = { tenantId, actors: ids, addresses };
  // A filter that asked for the address asks for the person's ids, or else for nobody.
  const instead = ids.length > 0 ? ids : [deps.newUuid(deps.now())];
  if (segment === 'identity') await eraseElsewhere(tx, person, instead);
  await expireFiles(tx, tenantId, deps.now());
  // The head of the log comes last, as everywhere: its holder may wait for nothing else.
  for (const [actors, events, count] of partsOf(ids, plan.events)) {
    const [head] = await lockHeads(tx, [tenantId], true);
    if (!head) throw new ErasureRefused('the tenant has no log');
    const nowMs = deps.now();
    const id = deps.newUuid(nowMs);
    const erasure = { tenantId, id, segment, actors, events, size: head.size };
    await insertErasure(tx, erasure, nowMs);
    const known = plan.actors.reduce((sum, actor) => sum + actor.count, 0);
    await deps.recordOwn(tx, tenantId, erasureEvent(erasure, count ?? known, requester));
  }
}

/**
 * Actors, then named events as many as a record takes,
 * each with the number of events if known here.
 */
function partsOf(actors: string[], events: string[]): [string[], string[], number | null][] {
  const parts: [string[], string[], number | null][] =
    actors.length > 0 ? [[actors, [], null]] : [];
  for (let at = 0; at < events.length; at += eventsPerRecord) {
    const part = events.slice(at, at + eventsPerRecord);
    parts.push([[], part, part.length]);
  }
  return parts;
}

async function finishErasures(
  owner: OwnerSession,
  deps: ErasureDeps,
  tenantId: string,
): Promise<Erased> {
  const erased: Erased = { tenantId, erasures: [], files: 0 };
  for (const erasure of await unfinishedErasures(owner, tenantId)) {
    const events = await eraseBatches(owner, deps, erasure);
    // Once more: a file may have been finished meanwhile from pages that were read before.
    const files = await removeFiles(owner, deps, tenantId);
    await deps.eraseArchived(erasure);
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

/** Removes every file of the tenant's exports; returns how many. */
export async function removeFiles(
  owner: OwnerSession,
  { now, removeFile }: Pick<ErasureDeps, 'now' | 'removeFile'>,
  tenantId: string,
): Promise<number> {
  const files = await owner.transaction((tx) => expireFiles(tx, tenantId, now()));
  for (const file of files) {
    await removeFile(file);
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
      count += await eraseSegments(
        tx,
        erasure,
        next.map((row) => withoutSegment(sha, row, erasure.segment)),
      );
      return next;
    });
    const last = rows.at(-1);
    if (!last) return count;
    after = last.uuid;
  }
}

/**
 * The hash takes the place of the salt, with which anybody could have tried out what the text was.
 */
function withoutSegment(
  sha: Sha256,
  row: ErasableEvent,
  segment: WithholdableSegment,
): ErasedEvent {
  const index = segmentNames.indexOf(segment);
  const { salts, hashes } = openersOf(row);
  const text = segmentTexts(row satisfies CommittedEvent)[index];
  const salt = salts[index];
  if (!salt || text === undefined) throw new Error(`event ${row.uuid} has no ${segment} to erase`);
  const { salts: left, erased } = storedOpeners({
    salts: salts.map((each, at) => (at === index ? null : each)),
    hashes: hashes.map((each, at) => (at === index ? segmentHash(sha, index, salt, text) : each)),
  });
  return {
    uuid: row.uuid,
    retentionClass: row.retentionClass,
    salts: left,
    erased: erased ?? '{}',
  };
}
