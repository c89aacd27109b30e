import { createFrontier, type GetNode, type LogState, type Sha256 } from '@indelible/protocol';
import type { Signer } from '../crypto/signer.ts';
import type { ObjectStore } from '../objects/object-store.ts';
import { type RecordOwn, reopenedEvent } from '../own-event.ts';
import type { WriterTx } from '../postgres/db.ts';
import { releasedState, signingKeys } from './checkpoint.store.ts';
import { hasRoot } from './guard.store.ts';
import { type PublishedLog, publishedLogs } from './published-logs.job.ts';
import {
  allLogs,
  beginAnew,
  dropForeign,
  emptyLog,
  forgetCheckpoint,
  hasSurplus,
  keepCheckpoint,
  keepLogId,
  type LogRecord,
  openHead,
  releasedNotes,
  resumeAfter,
  stopLogs,
} from './reopen.store.ts';
import { roundName, stateOf, writeRound } from './round.ts';
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
  now: () => number;
  objects: ObjectStore;
  recordOwn: RecordOwn;
  /**
   * Opens the key of this installation, given the one in use, if any; null when there is none yet.
   * Throws a sentence for one that must not sign.
   */
  openSigner: (keyInUse: Uint8Array | null) => Promise<Signer | null>;
  /**
   * What else is to be changed of the logs before that is signed; hears which of them begin anew.
   */
  beforeSigning?: (reopened: readonly ReopenedLog[]) => Promise<void>;
  /**
   * Further keys that are trusted to have signed rounds, beside that one and those of the database.
   */
  publicKeys?: readonly Uint8Array[];
}

/**
 * The way on after a rewound database, within the owner's transaction: every log that does not hold
 * what was published of it begins a new origin with the leaves it has, and its first new record is
 * the last published checkpoint, so that the tenant sees what was lost. Logs that agree go on as
 * they are; without any contradiction nothing changes. What was published is what the object store
 * holds under the service's signature; the table of it in the database is made to say so.
 */
export async function reopenLogs(tx: WriterTx, deps: ReopenDeps): Promise<ReopenedLog[]> {
  const last = await stopLogs(tx);
  const keys = await signingKeys(tx);
  const inUse = keys.find(({ notAfterMs }) => notAfterMs === null)?.publicKey ?? null;
  const signer = await deps.openSigner(inUse);
  const publicKeys = [
    ...(signer === null ? [] : [await signer.publicKey()]),
    ...keys.map(({ publicKey }) => publicKey),
    ...(deps.publicKeys ?? []),
  ];
  const known = await releasedNotes(tx);
  const published = await publishedLogs({ ...deps, publicKeys }, known, last);
  const { newest, highest } = published;
  if (newest === null && highest > 0) throw new Error(unknownRounds);
  // First, because nothing can be recorded before; it holds only if everything below succeeds.
  await resumeAfter(tx, last);
  const reopened = await reopenEach(tx, deps, published.logs);
  await deps.beforeSigning?.(reopened);
  const state = await releasedState(tx);
  const signed = newest?.state ?? stateOf(deps.sha, []);
  const isSigned = Buffer.compare(signed, state) === 0;
  await resumeAfter(
    tx,
    isSigned ? (newest?.round ?? 0) : await publishReopening(tx, deps, signer, highest + 1, state),
  );
  return reopened;
}

const unknownRounds =
  'no round in the object store is signed by a key of this installation: set ' +
  'SIGNING_KEY_FILE to the key that signed them, or set OBJECT_STORE_URL to another ' +
  'store';

async function reopenEach(
  tx: WriterTx,
  deps: ReopenDeps,
  published: ReadonlyMap<string, PublishedLog>,
): Promise<ReopenedLog[]> {
  const logs = await allLogs(tx);
  const left = new Map(published);
  // Whoever names a published log is that one; the rest may be found by what they hold.
  const named = new Map(
    logs.flatMap(({ tenantId, logIds }) => {
      const own = logIds.map((logId) => left.get(logId)).find((log) => log !== undefined);
      if (own) left.delete(own.logId);
      return own ? [[tenantId, own] as const] : [];
    }),
  );
  const reopened: ReopenedLog[] = [];
  for (const log of logs) {
    const outcome = await reopenIfNeeded(tx, deps, log, named.get(log.tenantId) ?? null, left);
    if (outcome) reopened.push(outcome);
  }
  for (const { logId, size } of left.values()) reopened.push(lost(logId, size));
  return reopened;
}

const lost = (previousLogId: string, publishedSize: number): ReopenedLog => ({
  tenantId: null,
  previousLogId,
  logId: null,
  size: 0,
  publishedSize,
});

const why =
  'The log lacked published entries: the database was restored from an older backup, ' +
  'or changed in place. It continues under a new origin.';

async function reopenIfNeeded(
  tx: WriterTx,
  deps: ReopenDeps,
  log: LogRecord,
  named: PublishedLog | null,
  left: Map<string, PublishedLog>,
): Promise<ReopenedLog | null> {
  const { tenantId } = log;
  // A head that was deleted in place takes no entry with it.
  const head = log.head ?? (await openHead(tx, tenantId));
  if (head === null) {
    await forgetCheckpoint(tx, tenantId);
    const [logId] = log.logIds;
    return logId === undefined ? null : lost(logId, named?.size ?? 0);
  }
  if (log.head || named) {
    await dropForeign(tx, tenantId, Math.max(head.size, named?.size ?? 0));
  }
  const stored = await made(tx, deps.sha, tenantId, head);
  const nodes = treeReader(tx, deps.sha)(tenantId);
  const published = named ?? (await foundByRoot(deps.sha, nodes, stored.size, left));
  if (published !== null) await keepLogId(tx, tenantId, published.logId);
  const isComplete = stored.size >= head.size; // what was acknowledged counts too, published or not
  if (
    isComplete &&
    (published === null || (await holds(deps.sha, nodes, stored.size, published)))
  ) {
    await keepCheckpoint(tx, tenantId, published);
    return null;
  }
  const { size } = stored;
  const publishedSize = published?.size ?? head.size;
  const logId = await beginAnew(tx, tenantId);
  const known = { size: publishedSize, checkpoint: published?.note ?? null };
  await deps.recordOwn(tx, tenantId, reopenedEvent(tenantId, known, size, why));
  const previousLogId = published?.logId ?? log.logIds.at(-1) ?? logId;
  return { tenantId, previousLogId, logId, size, publishedSize };
}

async function holds(
  sha: Sha256,
  nodes: GetNode,
  stored: number,
  { size, root }: PublishedLog,
): Promise<boolean> {
  return stored >= size && hasRoot(nodes, sha, size, root);
}

/** The published log that these entries are, though nothing in the database says so any more. */
async function foundByRoot(
  sha: Sha256,
  nodes: GetNode,
  stored: number,
  left: Map<string, PublishedLog>,
): Promise<PublishedLog | null> {
  for (const published of left.values()) {
    if (published.size === 0 || !(await holds(sha, nodes, stored, published))) continue;
    left.delete(published.logId);
    return published;
  }
  return null;
}

/**
 * Signs what the logs have come to now, behind every number that is taken: the next round begins
 * there, and a database that was rewound to before this meets it. Returns its number.
 */
async function publishReopening(
  tx: WriterTx,
  { sha, now, objects }: ReopenDeps,
  signer: Signer | null,
  round: number,
  state: Uint8Array,
): Promise<number> {
  if (signer === null) throw new Error('the reopening is signed, and there is no signing key');
  const at = new Date(now()).toISOString();
  const notes = [...(await releasedNotes(tx)).values()].map(({ note }) => note);
  const object = await writeRound(sha, signer, { round, at, notes, state, isReopening: true });
  if (await objects.putIfAbsent(roundName(round), object)) return round;
  throw new Error(
    `${roundName(round)} came into the object store meanwhile: is a service running?`,
  );
}

/**
 * The log as its entries make it. Where somebody changed the database
 * in place, head and tiles are made anew from the entries that are
 * there, up to the first gap: else the log could never grow again.
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
