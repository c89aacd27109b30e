import type { Signer } from '../crypto/signer.ts';
import type { Parts } from '../parts.ts';
import type { WriterTx } from '../postgres/db.ts';
import {
  headsByLogId,
  keepRound,
  publishRound,
  releasedState,
  roundKeys,
  type TakenRound,
} from './checkpoint.store.ts';
import { disagreement } from './guard.store.ts';
import { publishAgain } from './lost-rounds.ts';
import {
  type FoundRound,
  fetchRound,
  type PublishedRound,
  type RoundKeys,
  roundName,
  roundOf,
  stateOf,
} from './round.ts';
import { fromStore, openOwnStore, type StoreDeps, stateIn } from './store-identity.ts';

export interface RoundGuardDeps extends Pick<Parts, 'sha' | 'now' | 'objects'> {
  signer: Signer;
  /** Gets the numbers of rounds that the store had lost and has again. */
  publishedAgain: (rounds: readonly number[]) => void;
}

/** The problem of a round of this installation that no known signing key has signed. */
export const newerKey =
  'signed with a newer key than this process has: set SIGNING_KEY_FILE to the newest key';

/**
 * Compares the database with the rounds in the object store. Each round's object contains, signed
 * by the service, the state of all logs (`stateOf`). So one comparison with the last round covers
 * every log, also those unchanged for long, at a cost that does not grow with the rounds. Objects
 * without a signature of the service are ignored: they neither stop recording nor count.
 */
export class RoundGuard {
  readonly #deps: RoundGuardDeps;
  readonly #foreign = new Set<number>();
  /** After this number the service had no round when this process last looked; at first unknown. */
  #end = Number.POSITIVE_INFINITY;
  #alarms: string[] = [];

  constructor(deps: RoundGuardDeps) {
    this.#deps = deps;
  }

  /** Foreign objects found since the last call, as sentences for the operator. */
  takeAlarms(): string[] {
    return this.#alarms.splice(0);
  }

  /** This process has released the round. */
  wrote(round: number): void {
    this.#end = round + 1;
  }

  /** The store was away: it is looked through again when it is back, as at the start. */
  lostSight(): void {
    this.#end = Number.POSITIVE_INFINITY;
  }

  /**
   * The first free number after the database's `last` round, or what shows that the database was
   * rewound or changed. Null: it has released a round that is in the store but not in the database,
   * which the service signed and the logs match; commit, and ask again. Throws StoreLost unless the
   * store shows its identity and the last round: then nothing can be compared or signed.
   */
  async firstFree(
    tx: WriterTx,
    { round: last, seed }: Pick<TakenRound, 'round' | 'seed'>,
  ): Promise<number | string | null> {
    // Its own key too: an attacker can remove keys from the database, but not this one.
    const publicKeys = [await this.#deps.signer.publicKey()];
    const keys = await roundKeys(tx, seed, publicKeys);
    const deps = { ...this.#deps, publicKeys };
    // A database from before its first start does not know the store, which round 1 shows.
    const first = last === 0 ? await fromStore(fetchRound(deps, 1, keys)) : 'missing';
    const isOwn = typeof first !== 'string';
    const state = isOwn ? stateOf(deps.sha, []) : await this.#lastState(tx, deps, keys);
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
    const found = await fromStore(fetchRound(this.#deps, round, keys));
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
    const names = this.#deps.objects.list('checkpoints', roundName(free));
    for (const name of await fromStore(names)) {
      const round = roundOf(name);
      if (round === null || typeof (await this.#find(round, keys)) === 'string') continue;
      return `${roundName(free)} is missing in the object store, but ${name} is there`;
    }
    this.#end = free;
    return null;
  }

  /**
   * The state of the last round. At the start, and when the store was away, earlier rounds that it
   * lost are published again. The last one is not: a store without it may be an older copy, and a
   * database that is restored later would sign a fork of what is published there.
   */
  async #lastState(tx: WriterTx, deps: StoreDeps, keys: RoundKeys): Promise<Uint8Array> {
    const state = stateIn(deps.sha, await openOwnStore(tx, deps));
    if (this.#end === Number.POSITIVE_INFINITY) {
      const rounds = await publishAgain(tx, deps, keys);
      if (rounds.length > 0) this.#deps.publishedAgain(rounds);
    }
    return state;
  }

  async #release(tx: WriterTx, published: PublishedRound): Promise<string | null> {
    const { sha, now } = this.#deps;
    const { round, state, checkpoints, isReopening, object } = published;
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
    await keepRound(tx, round, object);
    return null;
  }
}
