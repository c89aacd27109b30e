import { createFrontier, type LogState, type Sha256 } from '@indelible/protocol';
import type { WriterTx } from '../db.ts';
import type { ObjectStore } from '../objects.ts';
import type { OwnEvent, RecordOwn } from '../own-event.ts';
import { hasRoot } from './guard.store.ts';
import {
  allLogs,
  beginAnew,
  emptyLog,
  forgetCheckpoint,
  hasSurplus,
  keepLogId,
  type LogRecord,
  openHead,
  resumeAfter,
  stopLogs,
} from './reopen.store.ts';
import { readRound, roundName } from './round.ts';
import { appendLogs, planEntries } from './store.ts';
import { storedEntries, treeReader } from './tree.store.ts';

/** What became of a log that did not hold what was published of it. */
export interface ReopenedLog {
  /** Null when nothing of the log is left: its tenant came after the backup. */
  tenantId: string | null;
  previousLogId: string;
  /** The new id; null when nothing is left. */
  logId: string | null;
  /** Entries the log goes on with, and entries that were published. */
  size: number;
  publishedSize: number;
}

export interface ReopenDeps {
  sha: Sha256;
  objects: ObjectStore;
  recordOwn: RecordOwn;
}

interface Published {
  size: number;
  root: Uint8Array;
  note: string;
}

/**
 * The way on after a rewound database, within the owner's transaction: every log that does not hold
 * what was published of it begins a new origin with the leaves it has, and its first new record is the
 * last published checkpoint, so that the tenant sees what was lost. Logs that agree go on as they are;
 * without any contradiction nothing changes.
 */
export async function reopenLogs(tx: WriterTx, deps: ReopenDeps): Promise<ReopenedLog[]> {
  const { last, unknown } = await unknownRounds(deps.objects, await stopLogs(tx));
  // First, because nothing can be recorded before; it holds only if everything below succeeds.
  await resumeAfter(tx, last);
  const reopened: ReopenedLog[] = [];
  for (const log of await allLogs(tx)) {
    const published = unknown.get(log.logId) ?? log.released;
    unknown.delete(log.logId);
    const outcome = await reopenIfNeeded(tx, deps, log, published);
    if (outcome) reopened.push(outcome);
  }
  for (const [previousLogId, { size }] of unknown) {
    reopened.push(lost(previousLogId, size));
  }
  return reopened;
}

const lost = (previousLogId: string, publishedSize: number): ReopenedLog => ({
  tenantId: null,
  previousLogId,
  logId: null,
  size: 0,
  publishedSize,
});

/** The rounds that the database does not know: the last one, and the last checkpoint of each log. */
async function unknownRounds(objects: ObjectStore, known: number) {
  const unknown = new Map<string, Published>();
  for (let round = known + 1; ; round++) {
    const body = await objects.get(roundName(round));
    if (body === null) return { last: round - 1, unknown };
    for (const { note, logId, checkpoint } of readRound(round, body)) {
      unknown.set(logId, { size: checkpoint.size, root: checkpoint.root, note });
    }
  }
}

async function reopenIfNeeded(
  tx: WriterTx,
  { sha, recordOwn }: ReopenDeps,
  log: LogRecord,
  published: Published | null,
): Promise<ReopenedLog | null> {
  const { tenantId, logId, released } = log;
  if (released && log.head) await keepLogId(tx, tenantId, logId);
  // A head that was deleted in place takes no entry with it.
  const head = log.head ?? (await openHead(tx, tenantId, logId));
  if (head === null) {
    await forgetCheckpoint(tx, tenantId);
    return lost(logId, published?.size ?? 0);
  }
  const stored = await made(tx, sha, tenantId, head);
  const holds = async ({ size, root }: Published) =>
    stored.size >= size && hasRoot(treeReader(tx, sha)(tenantId), sha, size, root);
  const isComplete = stored.size >= head.size; // what was acknowledged counts too, published or not
  if (isComplete && (published === null || (await holds(published)))) return null;
  const { size } = stored;
  const publishedSize = published?.size ?? head.size;
  const newLogId = await beginAnew(tx, tenantId);
  await recordOwn(tx, tenantId, reopening(tenantId, published?.note ?? null, publishedSize, size));
  return { tenantId, previousLogId: logId, logId: newLogId, size, publishedSize };
}

/**
 * The log as its entries make it. Where somebody changed the database in place, head and tiles are
 * made anew from the entries that are there, up to the first gap: else the log could never grow again.
 */
async function made(
  tx: WriterTx,
  sha: Sha256,
  tenantId: string,
  head: LogState,
): Promise<{ size: number }> {
  const root = createFrontier(head, sha).root();
  const isWhole = await hasRoot(treeReader(tx, sha)(tenantId), sha, head.size, root);
  if (isWhole && !(await hasSurplus(tx, tenantId, head.size))) return head;
  const parts: Buffer[][] = [];
  for await (const part of storedEntries(tx, tenantId)) parts.push(part);
  let next = await emptyLog(tx, tenantId);
  for (const entries of parts) {
    if (entries.length === 0) continue;
    const append = planEntries(sha, next, entries, next.lastReceivedUs);
    await appendLogs(tx, [append]);
    next = { ...next, size: append.newSize, frontier: append.frontier };
  }
  return next;
}

const nobody = '00000000-0000-0000-0000-000000000000';

function reopening(
  tenantId: string,
  lastPublishedCheckpoint: string | null,
  publishedSize: number,
  size: number,
): OwnEvent {
  return {
    actor: { id: nobody, email: null, role: 'system', ip: null, userAgent: null },
    action: 'reopen',
    resource: { type: 'audit_log', id: tenantId, name: 'Audit log' },
    diff: { entries: { from: publishedSize, to: size } },
    after: { lastPublishedCheckpoint },
    reason:
      'The log did not hold what was published of it: the database was restored from an older backup, ' +
      'or changed in place. It goes on under a new origin.',
  };
}
