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
import { entriesFrom } from './entries.store.ts';
import { hasRoot, inOrderUntil } from './guard.store.ts';
import { type PublishedLogs, publishedLogs } from './published-logs.ts';
import {
  allLogs,
  beginAnew,
  dropForeign,
  emptyLog,
  forgetCheckpoint,
  hasSurplus,
  keepOnly,
  type LogRecord,
  openHead,
  releasedNotes,
  renewInstallation,
  resumeAfter,
  stopLogs,
} from './reopen.store.ts';
import { type OpenSigner, requireNewestKey } from './reopening-key.ts';
import { type RetiredLog, type Round, roundName, writeRound } from './round.ts';
import { headAfter, planEntries } from './sequencer.ts';
import { appendLogs } from './store.ts';
import {
  emptyStore,
  foreignStore,
  otherStore,
  readIdentity,
  StoreRefused,
  usedStore,
} from './store-identity.ts';

/** A log that was retired, and the one that continues it. */
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
  /** By tenant: the checkpoint of a log that was loaded from its archive, if the store has none. */
  archived?: ReadonlyMap<string, { size: number; note: string }>;
  /** Additional trusted keys of rounds, besides that one and those of the database. */
  publicKeys?: readonly Uint8Array[];
  /**
   * The logs begin anew in an empty object store, because the former one is lost. Repeated in the
   * same store if it ended before its COMMIT.
   */
  newStore?: boolean;
}

/**
 * The way on after a rewound database, within the owner's transaction: every log of the
 * installation begins a new origin with the entries it has, and its first new record is the last
 * published checkpoint, so that the tenant sees what was lost. Which logs contradict what was
 * published makes no difference. What was published is what the object store holds under the
 * service's signature, and what the database knows.
 *
 * One object decides: the round of the reopening, which names the logs that it retires. Before it
 * is written nothing has happened. Once it is there, whether the transaction commits or not, no
 * database signs a log that it retired: a round meets it and stops, and a further reopening begins
 * all logs anew again.
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
  const { reopened, retired } = await beginAll(tx, deps, published, last);
  const state = await releasedState(tx);
  const isEmpty = retired.length === 0 && newest === null;
  const next = { round: free, state, retired };
  const installation = deps.newStore ? await renewInstallation(tx) : seed;
  const signers = signer && [signer, seedSigner(installation)];
  const round = isEmpty ? 0 : await publishReopening(tx, deps, signers, next);
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

async function beginAll(
  tx: WriterTx,
  deps: ReopenDeps,
  published: PublishedLogs,
  last: number,
): Promise<{ reopened: ReopenedLog[]; retired: RetiredLog[] }> {
  const left = new Map(published.logs);
  const reopened: ReopenedLog[] = [];
  const retired: RetiredLog[] = [];
  for (const log of await allLogs(tx)) {
    const lineage = lineageOf(log, published);
    const next = await beginLog(tx, deps, log, lineage, published);
    if (next === null) continue;
    reopened.push(next);
    for (const logId of lineage) left.delete(logId);
    const logId = lineage.at(-1);
    if (logId !== undefined) retired.push({ logId, nextLogId: next.logId });
  }
  // The tenants of these logs are newer than the backup.
  for (const { logId: previousLogId, size: publishedSize } of left.values()) {
    const retirement = published.retired.get(previousLogId);
    if (!retirement) retired.push({ logId: previousLogId, nextLogId: null });
    // The retirements that this database knows were reported then.
    if (retirement && retirement.round <= last) continue;
    reopened.push({ tenantId: null, previousLogId, logId: null, size: 0, publishedSize });
  }
  return { reopened, retired };
}

/** The published id of a log, and those that continued it, in order. */
function lineageOf({ logIds }: LogRecord, published: PublishedLogs): string[] {
  const isKnown = (logId: string) => published.logs.has(logId) || published.retired.has(logId);
  return lineageFrom(logIds.find(isKnown) ?? logIds.at(-1), published);
}

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

const rewound =
  'The database was restored from an older backup, or was changed in place. Every log continues ' +
  'under a new origin, also one that lost nothing.';
const loaded = 'The log was loaded from its archive. It continues under a new origin.';

/** Gives a log its new origin; null if neither the log nor its tenant is left. */
async function beginLog(
  tx: WriterTx,
  deps: ReopenDeps,
  { tenantId, logIds, head: found }: LogRecord,
  lineage: readonly string[],
  { logs }: PublishedLogs,
): Promise<ReopenedLog | null> {
  // A deleted head takes no entries with it.
  const head = found ?? (await openHead(tx, tenantId));
  if (head === null) {
    await forgetCheckpoint(tx, tenantId);
    return null;
  }
  const own = logs.get(lineage[0] ?? '');
  if (found || own) await dropForeign(tx, tenantId, Math.max(head.size, own?.size ?? 0));
  const { size } = await made(tx, deps.sha, tenantId, head, own?.size ?? 0);
  const known = lineage.flatMap((logId) => logs.get(logId) ?? []);
  const archived = deps.archived?.get(tenantId);
  const notes = known.map(({ note }) => note);
  if (notes.length === 0 && archived !== undefined) notes.push(archived.note);
  const publishedSize = known.at(-1)?.size ?? archived?.size ?? head.size;
  const logId = await beginAnew(tx, tenantId);
  const why = archived === undefined ? rewound : loaded;
  await deps.recordOwn(tx, tenantId, reopenedEvent(tenantId, { publishedSize, notes }, size, why));
  const previousLogId = known.at(-1)?.logId ?? logIds.at(-1) ?? logId;
  return { tenantId, previousLogId, logId, size, publishedSize };
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
