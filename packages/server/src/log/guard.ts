import type { Signer } from '../crypto/signer.ts';
import type { Parts } from '../parts.ts';
import type { WriterTx } from '../postgres/db.ts';
import {
  headsByLogId,
  publishRound,
  releasedState,
  roundKeys,
  type TakenRound,
} from './checkpoint.store.ts';
import { disagreement } from './guard.store.ts';
import {
  type FoundRound,
  fetchRound,
  type PublishedRound,
  type RoundKeys,
  type RoundStore,
  roundName,
  roundOf,
  stateOf,
} from './round.ts';

export interface RoundGuardDeps extends Pick<Parts, 'sha' | 'now' | 'objects'> {
  signer: Signer;
}

/** The problem of a round of this installation that no known signing key has signed. */
export const newerKey =
  'signed with a newer key than this process has: set SIGNING_KEY_FILE to the newest key';

/**
 * The state of all logs in the last round that the database knows. Throws a sentence for the
 * operator if the object store does not have it as the service signed it.
 */
export async function publishedState(
  store: RoundStore,
  round: number,
  known: readonly Uint8Array[],
): Promise<Uint8Array> {
  if (round === 0) return stateOf(store.sha, []);
  const found = await fetchRound(store, round, { known });
  if (typeof found !== 'string') return found.state;
  const what = found === 'missing' ? 'is missing' : 'is not signed by this service';
  throw new Error(
    `${roundName(round)}, the last round of checkpoints that the database knows, ${what} ` +
      'in the object store, so nothing is signed. Restore that object, or run `indelible ' +
      'log reopen`',
  );
}

/**
 * Compares the database with the rounds in the object store. Each round's object contains, signed
 * by the service, the state of all logs (`stateOf`). So one comparison with the last round covers
 * every log, also those unchanged for long, at a cost that does not grow with the rounds. Objects
 * without a signature of the service are ignored: they neither stop recording nor count.
 */
export class RoundGuard {
  readonly #deps: RoundGuardDeps;
  /**
   * The last round that this process has seen: objects never change, so it need not read it again.
   */
  #seen: { round: number; state: Uint8Array } | null = null;
  readonly #foreign = new Set<number>();
  /** After this number the service had no round when this process last looked. */
  #end = Number.POSITIVE_INFINITY;
  #alarms: string[] = [];

  constructor(deps: RoundGuardDeps) {
    this.#deps = deps;
  }

  /** Foreign objects found since the last call, as sentences for the operator. */
  takeAlarms(): string[] {
    return this.#alarms.splice(0);
  }

  /** Stores the state of a round that this process has just written. */
  wrote(round: number, state: Uint8Array): void {
    this.#seen = { round, state };
    this.#end = round + 1;
  }

  /**
   * The first free number after the database's `last` round, or what shows that the database was
   * rewound or changed. Null: it has released a round that is in the store but not in the database,
   * which the service signed and the logs match; commit, and ask again. Throws if the last round is
   * not in the store: then nothing can be compared, and nothing must be signed.
   */
  async firstFree(
    tx: WriterTx,
    { round: last, seed }: Pick<TakenRound, 'round' | 'seed'>,
  ): Promise<number | string | null> {
    // Its own key too: an attacker can remove keys from the database, but not this one.
    const keys = await roundKeys(tx, seed, [await this.#deps.signer.publicKey()]);
    const state = await this.#stateAt(last, keys.known);
    if (Buffer.compare(await releasedState(tx), state) !== 0) {
      return `the published checkpoints in the database are not those of round ${last}`;
    }
    for (let round = last + 1; ; round++) {
      const found = await this.#find(round, keys);
      if (found === 'foreign') continue;
      if (found === 'missing') return (await this.#publishedBehind(round, keys)) ?? round;
      const finding = found.isKnown ? await this.#release(tx, found) : newerKey;
      return finding && `checkpoint round ${round} is already published, and ${finding}`;
    }
  }

  /** Reads a foreign object once, and raises the alarm of it. */
  async #find(round: number, keys: RoundKeys): Promise<FoundRound> {
    if (this.#foreign.has(round)) return 'foreign';
    const found = await fetchRound(this.#deps, round, keys);
    if (found !== 'foreign') return found;
    this.#foreign.add(round);
    this.#alarms.push(
      `${roundName(round)} in the object store is not signed by this service and was ` +
        'skipped: another installation or another writer uses this store',
    );
    return found;
  }

  /**
   * Rounds have no gaps: one after the free number shows that an object was lost, and that the
   * database was restored to an earlier state. Checks only at the start and when the database has
   * gone back, because listing many rounds takes long.
   */
  async #publishedBehind(free: number, keys: RoundKeys): Promise<string | null> {
    if (free >= this.#end) {
      this.#end = free; // also where another process wrote the rounds before it
      return null;
    }
    for (const name of await this.#deps.objects.list('checkpoints', roundName(free))) {
      const round = roundOf(name);
      if (round === null || typeof (await this.#find(round, keys)) === 'string') continue;
      return `${roundName(free)} is missing in the object store, but ${name} is there`;
    }
    this.#end = free;
    return null;
  }

  async #stateAt(round: number, keys: readonly Uint8Array[]): Promise<Uint8Array> {
    if (this.#seen?.round === round) return this.#seen.state;
    const state = await publishedState(this.#deps, round, keys);
    this.#seen = { round, state };
    return state;
  }

  async #release(tx: WriterTx, published: PublishedRound): Promise<string | null> {
    const { sha, now } = this.#deps;
    const { round, state, checkpoints, isReopening } = published;
    if (isReopening) return 'it reopened the logs, and this database has no record of that';
    const heads = await headsByLogId(
      tx,
      checkpoints.map(({ logId }) => logId),
    );
    const finding = await disagreement(tx, sha, checkpoints, heads);
    if (finding !== null) return finding;
    const released = checkpoints.flatMap((checkpoint) => {
      const tenantId = heads.get(checkpoint.logId)?.tenantId;
      return tenantId === undefined ? [] : [{ ...checkpoint, tenantId }];
    });
    await publishRound(tx, round, released, now());
    if (Buffer.compare(await releasedState(tx), state) !== 0) {
      return 'its checkpoints differ from those in the database';
    }
    this.#seen = { round, state };
    return null;
  }
}
