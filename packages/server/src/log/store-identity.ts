import { FormatError, isUuid, type Sha256 } from '@indelible/protocol';
import type { ObjectStore } from '../objects/object-store.ts';
import { readObject } from '../objects/read-object.ts';
import type { Queries } from '../postgres/db.ts';
import { messageOf } from '../postgres/embedded/error-code.ts';
import { openStoreId, signingKeys, storeLink, takeRound } from './checkpoint.store.ts';
import { type FoundSeal, fetchSeal, type RoundStore, roundName, stateOf } from './round.ts';

/*
 * Database and object store share one identity: `installation.json` in the store, a column in the
 * database. Otherwise a process with a wrong or empty store would publish there, and the guard
 * would compare the database with nothing.
 */

const identityName = 'installation.json';

/** Room for what an operator writes in its place. */
const identityBytesMax = 65_536;

export interface StoreDeps extends RoundStore {
  /** Keys that the database may not have yet. */
  publicKeys?: readonly Uint8Array[];
}

/** The object store cannot be used now, so nothing is signed; the message is for the operator. */
export class StoreLost extends Error {}

/** The object store is not the installation's: no process starts with it. */
export class StoreRefused extends StoreLost {}

/** Throws StoreLost for any error of the store. */
export async function fromStore<T>(call: Promise<T>): Promise<T> {
  return call.catch((cause: unknown) => {
    if (cause instanceof StoreLost) throw cause;
    throw new StoreLost(`the object store cannot be used: ${messageOf(cause)}`, { cause });
  });
}

/** What the store shows in one step; `last` is null before the first round. */
export type ShownStore = Awaited<ReturnType<typeof look>>;

async function look(tx: Queries, deps: StoreDeps) {
  const { storeId, firstId, round } = await storeLink(tx);
  const stored = (await signingKeys(tx)).map(({ publicKey }) => publicKey);
  const known = [...(deps.publicKeys ?? []), ...stored];
  const shown = Promise.all([
    readIdentity(deps.objects),
    round === 0 ? null : fetchSeal(deps, round, { known }),
  ]);
  const [inStore, last] = await fromStore(shown);
  return { storeId, firstId, round, inStore, last };
}

/** What the store shows; changes nothing. Throws StoreRefused for another installation's. */
export async function ownStore(tx: Queries, deps: StoreDeps): Promise<ShownStore> {
  const shown = await look(tx, deps);
  const refusal = await refusalOf(deps, shown);
  if (refusal !== null) throw new StoreRefused(refusal);
  return shown;
}

/**
 * Checks that the store belongs to the installation, or claims it: a first start claims an empty
 * store; a store without identity is recognised by the last round. Every start and every round asks
 * this. Throws StoreRefused for any other store. The first identity derives from the installation
 * key, so that the next start recognises the store of a start that was killed before its
 * transaction ended.
 */
export async function openOwnStore(tx: Queries, deps: StoreDeps): Promise<ShownStore> {
  // Hosts with a store each would both claim theirs, and one would never sign.
  if ((await storeLink(tx)).storeId === null) await takeRound(tx, true);
  const shown = await ownStore(tx, deps);
  const { storeId, firstId, inStore } = shown;
  const id = storeId ?? (await openStoreId(tx, inStore ?? firstId));
  if (storeId === null) await fromStore(deps.objects.create());
  if (inStore === null) await fromStore(writeIdentity(deps.objects, id));
  return shown;
}

/**
 * Checks that a round was written to the store that had the identity and the round before: a store
 * that was exchanged meanwhile would hold it alone, and its own round proves nothing.
 */
export async function requireWritten(tx: Queries, deps: StoreDeps): Promise<void> {
  const shown = await ownStore(tx, deps);
  stateIn(deps.sha, shown);
  if (shown.inStore === null)
    throw new StoreLost(`the object store was exchanged during round ${shown.round}`);
}

/**
 * The state of all logs in the last round. Throws StoreLost if the store does not have that round
 * as the service signed it.
 */
export function stateIn(sha: Sha256, { round, last }: ShownStore): Uint8Array {
  if (last === null) return stateOf(sha, []);
  if (typeof last !== 'string') return last.state;
  const what = last === 'missing' ? 'is missing' : 'is not signed by this service';
  throw new StoreLost(
    `${roundName(round)}, the last round of checkpoints that the database knows, ${what} ` +
      'in the object store, so nothing is signed. Restore that object, or run `indelible ' +
      'log reopen`',
  );
}

async function writeIdentity(objects: ObjectStore, storeId: string): Promise<void> {
  const body = new TextEncoder().encode(`${JSON.stringify({ installation: storeId })}\n`);
  await objects.putIfAbsent(identityName, body);
}

/** The identity in the store; null without one. */
export async function readIdentity(objects: ObjectStore): Promise<string | null> {
  try {
    const body = await readObject(objects, identityName, identityBytesMax);
    if (body === null) return null;
    const read: unknown = JSON.parse(new TextDecoder().decode(body));
    const id = (read as { installation?: unknown } | null)?.installation;
    if (typeof id === 'string' && isUuid(id)) return id;
  } catch (error) {
    // Reported below; its content does not matter.
    if (!(error instanceof SyntaxError || error instanceof FormatError)) throw error;
  }
  throw new StoreRefused(
    `${identityName} in the object store does not name an installation: the store was moved, so name ` +
      'the new one in OBJECT_STORE_URL; or bring the object back as it was',
  );
}

/** Why the database must not be used with this store, or null. */
async function refusalOf({ objects }: StoreDeps, shown: ShownStore): Promise<string | null> {
  const { storeId, firstId, round, inStore, last } = shown;
  if (storeId !== null && inStore !== null) {
    return storeId === inStore ? null : foreignStore(storeId, inStore);
  }
  if (round > 0) {
    if (isRound(last)) return null;
    return inStore === null ? emptyStore(round) : foreignStore('none yet', inStore);
  }
  if ((await fromStore(objects.list('checkpoints'))).length > 0) return usedStore;
  if (storeId !== null) return otherStore;
  return inStore === null || inStore === firstId ? null : usedStore;
}

const isRound = (last: FoundSeal | null) => last !== null && typeof last !== 'string';

export function foreignStore(ours: string, theirs: string): string {
  return (
    `the object store of OBJECT_STORE_URL belongs to another installation (it says ${theirs}, the ` +
    `database says ${ours}): name the store that this installation has used before. If that is lost for ` +
    'good, `indelible log reopen --yes --new-store` begins every log anew in an empty one'
  );
}

export function emptyStore(round: number): string {
  return (
    `the object store of OBJECT_STORE_URL does not hold what this installation has published ` +
    `(${roundName(round)} of its own is not there): name the store that it has used before, or copy ` +
    'all objects of that one here. If they are lost for good, `indelible log reopen --yes --new-store` ' +
    'begins every log anew in this one'
  );
}

export const otherStore =
  'the object store of OBJECT_STORE_URL is not the one that this installation began with: it has no ' +
  `${identityName}. Every process needs the same store: name the one of the first process. If that ` +
  'is lost for good, `indelible log reopen --yes --new-store` begins in this one';

export const usedStore =
  'the object store of OBJECT_STORE_URL is in use by another installation, or holds the checkpoints ' +
  'of a newer state of this one: give a new installation a store, or a prefix of a bucket, of its own. ' +
  'If the database was restored from before its first checkpoint, run `indelible log reopen`';
