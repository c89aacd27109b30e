import { mayPause, type Queries, type WriterTx } from '../postgres/db.ts';
import { keptRound, keptRounds } from './checkpoint.store.ts';
import { type RoundKeys, type RoundStore, readRound, roundName } from './round.ts';
import {
  fromStore,
  ownStore,
  type StoreDeps,
  StoreLost,
  StoreRefused,
  stateIn,
} from './store-identity.ts';

/* The database keeps the last 1,000 rounds as they are in the object store, which may lose some. */

/** The numbers of the kept rounds that the store lacks, in order. */
export async function lostRounds(
  tx: Queries,
  { objects }: Pick<RoundStore, 'objects'>,
): Promise<number[]> {
  const kept = await keptRounds(tx);
  const [first] = kept;
  if (first === undefined) return [];
  const present = new Set(await fromStore(objects.list('checkpoints', roundName(first - 1))));
  return kept.filter((round) => !present.has(roundName(round)));
}

/**
 * Publishes the lost rounds again, the oldest first, with the same bytes. Returns their numbers.
 * Not for a database that may lack later rounds: what it signs next would contradict them.
 */
export async function publishAgain(
  tx: WriterTx,
  { sha, objects }: RoundStore,
  keys: RoundKeys,
): Promise<number[]> {
  const lost = await lostRounds(tx, { objects });
  if (lost.length > 0) await mayPause(tx);
  const published: number[] = [];
  for (const round of lost) {
    const object = await keptRound(tx, round);
    // An attacker may have changed the table: nothing that the service did not sign gets there.
    if (object === null || (await readRound(sha, round, object, keys)) === null) continue;
    if (await fromStore(objects.putIfAbsent(roundName(round), object))) published.push(round);
  }
  return published;
}

/**
 * What keeps the service from signing with this store, or which rounds it lacks; null if nothing.
 * Starts and rounds ask the same. Changes nothing.
 */
export async function storeProblem(
  tx: Queries,
  deps: StoreDeps,
): Promise<{ isForeign: boolean; message: string } | null> {
  try {
    stateIn(deps.sha, await ownStore(tx, deps));
    const lost = await lostRounds(tx, deps);
    if (lost.length === 0) return null;
    const names = lost.slice(0, 3).map(roundName).join(', ');
    const message =
      `${lost.length} of the rounds that the database keeps are missing in the object store, such as ` +
      `${names}: the next start publishes them again`;
    return { isForeign: false, message };
  } catch (error) {
    if (!(error instanceof StoreLost)) throw error;
    return { isForeign: error instanceof StoreRefused, message: error.message };
  }
}
