import { randomUUID } from 'node:crypto';
import { createFrontier, type LogState, receivedAtUs, type Sha256 } from '@indelible/protocol';
import { type Signer, seedSigner } from '../crypto/signer.ts';
import { reopenedEvent } from '../own-event.ts';
import type { Parts } from '../parts.ts';
import type { WriterTx } from '../postgres/db.ts';
import {
  openStoreId,
  releasedState,
  roundKeys,
  signingKeys,
  storeLink,
} from './checkpoint.store.ts';
import { hasRoot, inOrderUntil } from './guard.store.ts';
import { type PublishedLog, type PublishedLogs, publishedLogs } from './published-logs.ts';
import {
  allLogs,
  beginAnew,
  dropForeign,
  emptyLog,
  forgetCheckpoint,
  hasSurplus,
  keepCheckpoint,
  keepLogId,
  keepOnly,
  type LogRecord,
  openHead,
  releasedNotes,
  renewInstallation,
  resumeAfter,
  stopLogs,
} from './reopen.store.ts';
import { type OpenSigner, requireNewestKey } from './reopening-key.ts';
import { type RetiredLog, type Round, roundName, stateOf, writeRound } from './round.ts';
import { headAfter, planEntries } from './sequencer.ts';
import { appendLogs, entriesFrom } from './store.ts';
import {
  emptyStore,
  foreignStore,
  otherStore,
  readIdentity,
  StoreRefused,
  usedStore,
} from './store-identity.ts';

/** The result for a log that lacked published entries. */
export interface ReopenedLog {
  /** Null if nothing of the log remains: its tenant is newer than the backup. */
  tenantId: string | null;
  previousLogId: string;
  /** The new id; null if nothing remains. */
  logId: string | null;
  /** Entries that remain, and entries that were published. */
  size: number;
  publishedSize: number;
}

export interface ReopenDeps extends Pick<Parts, 'sha' | 'now' | 'objects' | 'recordOwn'> {
  openSigner: OpenSigner;
  /** Changes to the logs before signing; gets the logs that begin anew. */
  beforeSigning?: (reopened: readonly ReopenedLog[]) => Promise<void>;
  /** Additional trusted keys of rounds, besides that one and those of the database. */
  publicKeys?: readonly Uint8Array[];
  /**
   * Begins every log anew in an empty object store: with the former store, the knowledge of
   * published checkpoints is lost. Repeated in the same store if it ended before its COMMIT.
   */
  newStore?: boolean;
}

/**
 * The way on after a rewound database, within the owner's transaction: every log that does not
 * hold what was published of it, or that an earlier reopening retired, begins a new origin with
 * the leaves it has, and its first new record is the last published checkpoint, so that the tenant
 * sees what was lost. Logs that agree go on as they are; without any contradiction nothing
 * changes. What was published is what the object store holds under the service's signature; the
 * table of it in the database is made to say so.
 *
 * One object decides: the round of the reopening, which names the logs that it retires. Before it
 * is written nothing has happened. Once it is there, whether the transaction commits or not, no
 * database signs a log that it retired: a round meets it and stops, and a further reopening finds
 * it.
 */
export async function reopenLogs(tx: WriterTx, deps: ReopenDeps): Promise<ReopenedLog[]> {
  const { round: last, seed } = await stopLogs(tx);
  const keys = await signingKeys(tx);
  const inUse = keys.find(({ notAfterMs }) => notAfterMs === null)?.publicKey ?? null;
  const signer = await deps.openSigner(inUse);
  const more = [...(signer === null ? [] : [await signer.publicKey()]), ...(deps.publicKeys ?? [])];
  const known = await releasedNotes(tx);
  const published = await publishedLogs(deps, await roundKeys(tx, seed, more), known, last);
  const { newest, isNew, free } = published;
  if (newest === null && !isNew) throw new Error(unknownRounds);
  await requireNewestKey(newest, signer, keys);
  const inStore = await requireStore(tx, deps, published);
  // First, because nothing can be recorded before; rolled back if a later step fails.
  await resumeAfter(tx, last);
  // Rounds that the database knows are gone; those behind them may be too, and were seen by others.
  const hasLostRounds = newest !== null && newest.round < last;
  const isWhole = published.isWhole && !deps.newStore && !hasLostRounds;
  const { reopened, lineages, gone } = await reopenEach(tx, deps, { ...published, isWhole }, last);
  await deps.beforeSigning?.(reopened);
  const retired = [...(await retiredOf(tx, lineages)), ...gone];
  const state = await releasedState(tx);
  const signed = newest?.state ?? stateOf(deps.sha, []);
  const isSigned = retired.length === 0 && Buffer.compare(signed, state) === 0;
  const next = { round: free, state, retired };
  const installation = deps.newStore ? await renewInstallation(tx) : seed;
  const signers = signer && [signer, seedSigner(installation)];
  const round = isSigned ? (newest?.round ?? 0) : await publishReopening(tx, deps, signers, next);
  await resumeAfter(tx, round);
  // The next start writes it to the store: until the COMMIT a new store must look like one.
  if (round > 0) await openStoreId(tx, inStore ?? randomUUID());
  return reopened;
}

/** The identity in the store, null without one. Throws StoreRefused for another installation's. */
async function requireStore(
  tx: WriterTx,
  { objects, newStore = false }: ReopenDeps,
  { newest, isNew }: PublishedLogs,
): Promise<string | null> {
  const inStore = await readIdentity(objects);
  const { storeId, round } = await storeLink(tx);
  if (newStore && (inStore !== null || !isNew)) throw new StoreRefused(notEmpty);
  if (inStore !== null && storeId !== null && inStore !== storeId) {
    throw new StoreRefused(foreignStore(storeId, inStore));
  }
  if (newest !== null || newStore) return inStore;
  if (inStore !== null && storeId === null) throw new StoreRefused(usedStore);
  if (round > 0) throw new StoreRefused(emptyStore(round));
  if (inStore === null && storeId !== null) throw new StoreRefused(otherStore);
  return inStore;
}

const notEmpty = '--new-store is for an empty object store, and this one holds objects already';

const unknownRounds =
  'no round in the object store is signed by a key of this installation: set ' +
  'SIGNING_KEY_FILE to the key that signed them, or set OBJECT_STORE_URL to another ' +
  'store';

/** By tenant: the log's id in the database, and the ids that continued it, in order. */
type Lineages = Map<string, string[]>;

async function reopenEach(
  tx: WriterTx,
  deps: ReopenDeps,
  published: PublishedLogs,
  last: number,
): Promise<{ reopened: ReopenedLog[]; lineages: Lineages; gone: RetiredLog[] }> {
  const logs = await allLogs(tx);
  const left = new Map(published.logs);
  const lineages: Lineages = new Map();
  // A log with a published id is that log; others may be found by their entries.
  for (const { tenantId, logIds } of logs) {
    const isKnown = (logId: string) => left.has(logId) || published.retired.has(logId);
    const lineage = lineageFrom(logIds.find(isKnown) ?? logIds.at(-1), published);
    for (const logId of lineage) left.delete(logId);
    lineages.set(tenantId, lineage);
  }
  const reopened: ReopenedLog[] = [];
  for (const log of logs) {
    const outcome = await reopenIfNeeded(tx, deps, log, { published, lineages, left });
    if (outcome) reopened.push(outcome);
  }
  const gone: RetiredLog[] = [];
  for (const { logId, size } of left.values()) {
    const retirement = published.retired.get(logId);
    if (!retirement) gone.push({ logId, nextLogId: null });
    // Retirements that this database knows were recorded then.
    if (!retirement || retirement.round > last) reopened.push(lost(logId, size));
  }
  return { reopened, lineages, gone };
}

/** This log and those that continued it, in order. */
function lineageFrom(
  first: string | undefined,
  { retired }: Pick<PublishedLogs, 'retired'>,
): string[] {
  const logIds: string[] = [];
  for (let next = first ?? null; next !== null && !logIds.includes(next); ) {
    logIds.push(next);
    next = retired.get(next)?.nextLogId ?? null;
  }
  return logIds;
}

/** The logs that continue under a new id. */
async function retiredOf(tx: WriterTx, lineages: Lineages): Promise<RetiredLog[]> {
  return (await allLogs(tx)).flatMap(({ tenantId, logIds }) => {
    const before = lineages.get(tenantId) ?? [];
    const logId = before.at(-1);
    const nextLogId = logIds.at(-1);
    if (logId === undefined || nextLogId === undefined || before.includes(nextLogId)) return [];
    return [{ logId, nextLogId }];
  });
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

interface Reopening {
  published: PublishedLogs;
  lineages: Lineages;
  /** Published logs without a known tenant. */
  left: Map<string, PublishedLog>;
}

async function reopenIfNeeded(
  tx: WriterTx,
  deps: ReopenDeps,
  log: LogRecord,
  { published: { logs, retired, isWhole }, lineages, left }: Reopening,
): Promise<ReopenedLog | null> {
  const { tenantId } = log;
  let lineage = lineages.get(tenantId) ?? [];
  const [ownId = ''] = lineage;
  const named = logs.get(ownId) ?? null;
  // A deleted head takes no entries with it.
  const head = log.head ?? (await openHead(tx, tenantId));
  if (head === null) {
    await forgetCheckpoint(tx, tenantId);
    const [logId] = log.logIds;
    return logId === undefined ? null : lost(logId, named?.size ?? 0);
  }
  if (log.head || named) {
    await dropForeign(tx, tenantId, Math.max(head.size, named?.size ?? 0));
  }
  const stored = await made(tx, deps.sha, tenantId, head, named?.size ?? 0);
  const holds = async (published: PublishedLog) =>
    stored.size >= published.size && hasRoot(tx, deps.sha, tenantId, published);
  const published = named ?? (await foundByRoot(holds, left));
  if (published !== null) await keepLogId(tx, tenantId, published.logId);
  if (published !== null && named === null) {
    lineage = lineageFrom(published.logId, { retired });
    for (const logId of lineage) left.delete(logId);
    lineages.set(tenantId, lineage);
  }
  const isComplete = stored.size >= head.size; // what was acknowledged counts too, published or not
  const mayGoOn = isWhole && isComplete && !lineage.some((logId) => retired.has(logId));
  if (mayGoOn && (published === null || (await holds(published)))) {
    await keepCheckpoint(tx, tenantId, published);
    return null;
  }
  const known = lineage.flatMap((logId) => logs.get(logId) ?? []);
  const newest = known.at(-1);
  const { size } = stored;
  const publishedSize = newest?.size ?? head.size;
  const logId = await beginAnew(tx, tenantId);
  const notes = known.map(({ note }) => note);
  await deps.recordOwn(tx, tenantId, reopenedEvent(tenantId, { publishedSize, notes }, size, why));
  const previousLogId = newest?.logId ?? log.logIds.at(-1) ?? logId;
  return { tenantId, previousLogId, logId, size, publishedSize };
}

/** The published log that has these entries, if the database has lost its id. */
async function foundByRoot(
  holds: (published: PublishedLog) => Promise<boolean>,
  left: Map<string, PublishedLog>,
): Promise<PublishedLog | null> {
  for (const published of left.values()) {
    if (published.size === 0 || !(await holds(published))) continue;
    left.delete(published.logId);
    return published;
  }
  return null;
}

/**
 * Signs the current logs under the number after every used one: the next round follows it, and a
 * database rewound to an earlier state finds it. Returns its number.
 */
async function publishReopening(
  tx: WriterTx,
  { sha, now, objects, newStore = false }: ReopenDeps,
  signers: readonly Signer[] | null,
  next: Pick<Round, 'round' | 'state' | 'retired'>,
): Promise<number> {
  if (signers === null) throw new Error('the reopening is signed, and there is no signing key');
  const at = new Date(now()).toISOString();
  const notes = [...(await releasedNotes(tx)).values()].map(({ note }) => note);
  const object = await writeRound(sha, signers, { ...next, at, notes, isReopening: true });
  await keepOnly(tx, next.round, object);
  if (newStore) await objects.create();
  if (await objects.putIfAbsent(roundName(next.round), object)) return next.round;
  throw new Error(
    `${roundName(next.round)} was written to the object store by another process: stop the service`,
  );
}

/**
 * The log according to its entries. If the database was changed in place, head and tiles are
 * rebuilt from the entries up to the first gap, or up to the first one behind the published ones
 * that is not in the order of receipt; otherwise the log could never grow again.
 */
async function made(
  tx: WriterTx,
  sha: Sha256,
  tenantId: string,
  head: LogState,
  publishedSize: number,
): Promise<{ size: number }> {
  const root = createFrontier(head, sha).root();
  const isWhole = await hasRoot(tx, sha, tenantId, { size: head.size, root });
  const end = await inOrderUntil(tx, tenantId, publishedSize);
  if (isWhole && end >= head.size && !(await hasSurplus(tx, tenantId, head.size))) return head;
  const parts: Uint8Array[][] = [];
  for await (const part of entriesFrom(tx, tenantId, 0)) parts.push(part);
  let next = await emptyLog(tx, tenantId);
  for (const part of parts) {
    const entries = part.slice(0, Math.max(0, end - next.size));
    const last = entries.at(-1);
    if (last === undefined) continue;
    // A new head has the time of now, and the clock may have been ahead.
    const receivedUs = Math.max(next.lastReceivedUs, receivedAtUs(last));
    const append = planEntries(sha, next, entries, receivedUs);
    await appendLogs(tx, [append]);
    next = headAfter(append);
  }
  return next;
}
