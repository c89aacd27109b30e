import { FormatError, isUuid } from '@indelible/protocol';
import type { ObjectStore } from '../objects/object-store.ts';
import { readObject } from '../objects/read-object.ts';
import type { Queries } from '../postgres/db.ts';
import { openStoreId, signingKeys, storeLink, takeRound } from './checkpoint.store.ts';
import { fetchRound, type RoundStore, roundName } from './round.ts';

/*
 * Database and object store share one identity: `installation.json` in the store, a column in the
 * database. Otherwise a process with a wrong or empty store would publish there, and the guard
 * would compare the database with nothing.
 */

const identityName = 'installation.json';

/** Room for what an operator writes in its place. */
const identityBytesMax = 65_536;

interface StoreDeps extends RoundStore {
  /** Keys that the database may not have yet. */
  publicKeys?: readonly Uint8Array[];
}

/** The object store must not be used; the message is for the operator. */
export class StoreRefused extends Error {}

/**
 * Checks that the store belongs to the installation, or claims it: a first start claims an empty
 * store; a store of an earlier release, without identity, is recognised by the last round. Throws
 * StoreRefused for any other. The first identity derives from the installation key, so that the
 * next start recognises the store of a start that was killed before its transaction ended.
 */
export async function openOwnStore(tx: Queries, deps: StoreDeps): Promise<void> {
  const { storeId, firstId } = await storeLink(tx);
  // Hosts with a store each would both claim theirs, and one would never sign.
  if (storeId === null) await takeRound(tx, true);
  const inStore = await readIdentity(deps.objects);
  const refusal = await refusalOf(tx, deps, inStore);
  if (refusal !== null) throw new StoreRefused(refusal);
  const id = await openStoreId(tx, inStore ?? firstId);
  if (inStore === null) await writeIdentity(deps.objects, id);
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

/** Why the database must not be used with this store, or null; changes nothing. */
export async function refusalOf(
  tx: Queries,
  deps: StoreDeps,
  inStore: string | null,
): Promise<string | null> {
  const { storeId, firstId, round } = await storeLink(tx);
  if (storeId !== null && inStore !== null) {
    return storeId === inStore ? null : foreignStore(storeId, inStore);
  }
  if (round > 0) {
    if (await holdsRound(tx, deps, round)) return null;
    return inStore === null ? emptyStore(round) : foreignStore('none yet', inStore);
  }
  if ((await deps.objects.list('checkpoints')).length > 0) return usedStore;
  if (storeId !== null) return otherStore;
  return inStore === null || inStore === firstId ? null : usedStore;
}

async function holdsRound(tx: Queries, deps: StoreDeps, round: number): Promise<boolean> {
  const stored = (await signingKeys(tx)).map(({ publicKey }) => publicKey);
  const known = [...(deps.publicKeys ?? []), ...stored];
  return typeof (await fetchRound(deps, round, { known })) !== 'string';
}

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
