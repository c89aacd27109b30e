import { setTimeout as delay } from 'node:timers/promises';
import { createFrontier, formatCheckpoint, formatNote, noteKeyId } from '@indelible/protocol';
import { type Signer, seedSigner } from '../crypto/signer.ts';
import { unavailable } from '../http/problem.ts';
import type { Parts } from '../parts.ts';
import { type WriterTx, write } from '../postgres/db.ts';
import {
  type DirtyLog,
  dirtyLogs,
  haltLog,
  keepRound,
  noteAlarm,
  publishRound,
  releasedState,
  roundsNow,
  type SignedCheckpoint,
  type TakenRound,
  takeRound,
} from './checkpoint.store.ts';
import { contradiction, damageOf } from './guard.store.ts';
import { RoundGuard } from './guard.ts';
import { SigningKeyRefused } from './key-rotation.ts';
import { originOf, roundName, writeRound } from './round.ts';
import { logIsHalted } from './store.ts';
import {
  fromStore,
  openOwnStore,
  requireWritten,
  type StoreDeps,
  StoreLost,
} from './store-identity.ts';

export interface CheckpointDeps extends Pick<Parts, 'db' | 'sha' | 'now' | 'objects'> {
  signer: Signer;
  /** Host part of every origin. */
  originHost: string;
  /** Activates the signer's key and records it in the logs; may be called again after an error. */
  announceKey: () => Promise<void>;
  observer: CheckpointObserver;
  /** Least time between the beginnings of rounds on demand; a second unless given. */
  demandEveryMs?: number | undefined;
  /** Waits this many milliseconds, or until `signal`; default: node's timer. */
  pause?: (ms: number, signal?: AbortSignal) => Promise<void>;
}

/** Gets rounds, and why the logs are stopped (null: they are not, any more). */
export interface CheckpointObserver {
  published(checkpoints: number): void;
  roundFailed(error: unknown): void;
  /** A foreign object has the name of a round; the sentence names it. */
  foreignObject(sentence: string): void;
  /** Rounds that the object store had lost are there again. */
  publishedAgain(rounds: readonly number[]): void;
  /** Why nothing is signed with the object store; null: it is back. */
  storeLost(reason: string | null): void;
  halted(reason: string | null): void;
}

/** The result of a round: the number of released checkpoints, or why the logs are stopped. */
interface RoundResult {
  published: number;
  halted: string | null;
}

/** Returns the number of released checkpoints, or what they would contradict. */
type RoundWork = (tx: WriterTx, round: number, taken: TakenRound) => Promise<number | string>;

const logsPerRound = 20_000;
const signaturesAtOnce = 25;
const demandWaitMsMax = 8_000;

/**
 * Signs the logs, and guards against a rewound database by the order of a round: (1) take the
 * round's number and compare the database with the last round, (2) sign, (3) write
 * `checkpoints/<round>` to the object store unless it exists, (4) release. A crash between 3 and 4
 * leaves an object that matches the logs: the next round releases it. A database restored from an
 * older backup repeats old round numbers, finds an object with more than its logs contain, and
 * recording stops. The store shows its identity and the last round at (1), and again between 3 and
 * 4: otherwise a store that was exchanged meanwhile would have the object, and a restored database
 * would not find it.
 */
export class CheckpointJob {
  readonly #deps: CheckpointDeps;
  readonly #pause: NonNullable<CheckpointDeps['pause']>;
  readonly #guard: RoundGuard;
  #running: Promise<void> | null = null;
  #demanded: Promise<void> | null = null;
  #startedMs = Number.NEGATIVE_INFINITY;
  #halted: string | null = null;
  /** Whether this process has compared the database with the published rounds. */
  #guarded = false;
  #keyAnnounced = false;
  #storeLost: string | null = null;
  readonly #suspects = new Set<string>();
  /** The last round that this process has released, or seen released at its interval. */
  #countedRound = 0;

  constructor(deps: CheckpointDeps) {
    this.#deps = deps;
    this.#pause = deps.pause ?? timer;
    const { publishedAgain } = deps.observer;
    this.#guard = new RoundGuard({ ...deps, publishedAgain });
  }

  get originHost(): string {
    return this.#deps.originHost;
  }

  /** Throws StoreRefused for the object store of another installation, and an empty one. */
  async requireOwnStore(): Promise<void> {
    const store = await this.#store();
    await write(this.#deps.db, (tx) => openOwnStore(tx, store));
  }

  async #store(): Promise<StoreDeps> {
    const { sha, objects, signer } = this.#deps;
    return { sha, objects, publicKeys: [await signer.publicKey()] };
  }

  /** Why nothing is signed, as this process last saw the object store; null: the store is there. */
  get storeLost(): string | null {
    return this.#storeLost;
  }

  /** The next round checks these logs completely, even if they have not grown. */
  suspect(tenantIds: readonly string[]): void {
    for (const tenantId of tenantIds) this.#suspects.add(tenantId);
  }

  /** A round whose failure is only reported: signing waits, recording continues. */
  async tick(): Promise<boolean> {
    // Another process in a round guards the logs too, but this process must compare once itself.
    return this.#start(!this.#guarded).then(
      () => true,
      (error) => {
        this.#deps.observer.roundFailed(error);
        return false;
      },
    );
  }

  /**
   * The round of an interval; null if another process released one in this interval. Otherwise each
   * process would sign all logs every ten seconds.
   */
  async tickUnlessSigned(): Promise<boolean | null> {
    // If the database is unavailable, the failing round reports it.
    const known = await roundsNow(this.#deps.db.writer).catch(() => null);
    const round = known?.round ?? this.#countedRound;
    const isSigned = round > this.#countedRound;
    this.#countedRound = round;
    const isReady = this.#keyAnnounced && this.#storeLost === null;
    if (isSigned && isReady && this.#suspects.size === 0) return null;
    return this.tick();
  }

  /**
   * Resolves after a round that began after this call, so that it covers everything recorded
   * before. At most one a second: later callers share the next one. Throws `unavailable` if nothing
   * can be published, or not within 8 s.
   */
  async onDemand(): Promise<void> {
    this.#demanded ??= this.#runDemanded();
    const made = new AbortController();
    const late = this.#pause(demandWaitMsMax, made.signal).then(() => 'late' as const);
    const first = await Promise.race([this.#demanded, late]).finally(() => made.abort());
    if (first === 'late') throw unavailable('the checkpoint is not ready yet; try again');
  }

  async #runDemanded(): Promise<void> {
    const { demandEveryMs = 1_000 } = this.#deps;
    await this.#pause(Math.max(0, this.#startedMs + demandEveryMs - performance.now()));
    // A running round may have read the logs before the caller recorded.
    while (this.#running) await this.#running.catch(() => {});
    this.#demanded = null;
    await this.#start(true).catch((error) => {
      this.#deps.observer.roundFailed(error);
      throw unavailable('no checkpoint can be published now; recording continues. Try again', 10);
    });
    if (this.#halted !== null) throw logIsHalted();
  }

  /** Rounds of one process never overlap. Throws if object store or database is unavailable. */
  #start(wait: boolean): Promise<void> {
    if (this.#running) return this.#running;
    this.#startedMs = performance.now();
    this.#running = this.#round(wait).finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  async #round(wait: boolean): Promise<void> {
    // A key is activated and recorded only after the logs are known not to be rewound.
    if (!this.#keyAnnounced) {
      const guarded = await this.#inRound(wait, async () => 0);
      if (guarded === null || guarded.halted !== null) return;
      this.#keyAnnounced = await this.#announceKey();
    }
    for (;;) {
      const result = await this.#inRound(wait, (tx, round, taken) =>
        this.#publish(tx, round, taken),
      );
      this.#deps.observer.published(result?.published ?? 0);
      if (result?.published !== logsPerRound) return;
    }
  }

  // Logs may get the record later: a log with a locked head must not prevent signing the others.
  async #announceKey(): Promise<boolean> {
    const { announceKey, observer } = this.#deps;
    return announceKey().then(
      () => true,
      (error) => {
        if (error instanceof SigningKeyRefused) throw error;
        observer.roundFailed(error);
        return false;
      },
    );
  }

  /** Runs `work` with the first free round; null if another process is in a round. */
  async #inRound(wait: boolean, work: RoundWork): Promise<RoundResult | null> {
    for (;;) {
      const result = await this.#tryRound(wait, work)
        .catch((error: unknown) => {
          if (error instanceof StoreLost) this.#lookAtStore(error.message);
          throw error;
        })
        .finally(() => this.#tellAlarms());
      if (result === 'found') continue;
      if (result) this.#lookAtStore(null);
      if (result) this.#look(result.halted);
      return result;
    }
  }

  /** 'found': a round that was in the object store alone is released now. */
  #tryRound(wait: boolean, work: RoundWork): Promise<RoundResult | 'found' | null> {
    return write(this.#deps.db, async (tx) => {
      const taken = await takeRound(tx, wait);
      if (!taken || taken.halted !== null) return taken && { published: 0, halted: taken.halted };
      const round = await this.#guard.firstFree(tx, taken);
      if (round === null) return 'found';
      const done = typeof round === 'string' ? round : await work(tx, round, taken);
      if (typeof done === 'number') return { published: done, halted: null };
      const halted = haltSentence(done);
      await haltLog(tx, halted);
      return { published: 0, halted };
    });
  }

  /** In its own transaction: a failing round rolls back everything else. */
  async #tellAlarms(): Promise<void> {
    const { db, observer } = this.#deps;
    for (const sentence of this.#guard.takeAlarms()) {
      observer.foreignObject(sentence);
      await write(db, (tx) => noteAlarm(tx, sentence)).catch(observer.roundFailed);
    }
  }

  #lookAtStore(lost: string | null): void {
    if (lost !== null) this.#guard.lostSight();
    if (lost !== this.#storeLost) this.#deps.observer.storeLost(lost);
    this.#storeLost = lost;
  }

  #look(halted: string | null): void {
    this.#guarded = true;
    if (halted !== this.#halted) this.#deps.observer.halted(halted);
    this.#halted = halted;
  }

  async #publish(
    tx: WriterTx,
    round: number,
    { keyInUse, seed }: TakenRound,
  ): Promise<number | string> {
    const { objects, sha, now, signer } = this.#deps;
    const suspected = await damageOf(tx, sha, [...this.#suspects]);
    if (suspected !== null) return suspected;
    this.#suspects.clear();
    const logs = await dirtyLogs(tx, logsPerRound);
    if (logs.length === 0) return 0;
    const damage = await contradiction(tx, sha, logs);
    if (damage !== null) return damage;
    if (keyInUse === null || Buffer.compare(keyInUse, await signer.publicKey()) !== 0) {
      throw new Error(
        'another process signs with a newer key: set SIGNING_KEY_FILE to that key and ' +
          'restart this process',
      );
    }
    const signed = await this.#signAll(logs);
    const at = new Date(now()).toISOString();
    const notes = signed.map(({ note }) => note);
    // In this transaction, so that the object contains the resulting state; invisible before
    // COMMIT.
    await publishRound(tx, round, signed, now());
    const state = await releasedState(tx);
    const signers = [signer, seedSigner(seed)];
    const object = await writeRound(sha, signers, { round, at, notes, state, isReopening: false });
    const name = roundName(round);
    await keepRound(tx, round, object);
    if (!(await fromStore(objects.putIfAbsent(name, object)))) {
      throw new Error(
        `${name} was written to the object store by another process: the next round checks it`,
      );
    }
    await requireWritten(tx, await this.#store());
    this.#guard.wrote(round);
    this.#countedRound = round;
    return signed.length;
  }

  async #signAll(logs: readonly DirtyLog[]): Promise<SignedCheckpoint[]> {
    const signed: SignedCheckpoint[] = [];
    for (let at = 0; at < logs.length; at += signaturesAtOnce) {
      const part = logs.slice(at, at + signaturesAtOnce);
      signed.push(...(await Promise.all(part.map((log) => this.#sign(log)))));
    }
    return signed;
  }

  async #sign(log: DirtyLog): Promise<SignedCheckpoint> {
    const { sha, signer, originHost } = this.#deps;
    const { tenantId, logId, size } = log;
    const origin = originOf(originHost, logId);
    const root = createFrontier(log, sha).root();
    const text = formatCheckpoint({ origin, size, root });
    const keyId = noteKeyId(sha, origin, await signer.publicKey());
    const signature = await signer.sign(new TextEncoder().encode(text));
    const note = formatNote(text, [{ name: origin, keyId, signature }]);
    return { tenantId, logId, size, root, note };
  }
}

async function timer(ms: number, signal?: AbortSignal): Promise<void> {
  await delay(ms, undefined, signal && { signal }).catch(() => {}); // the caller has stopped waiting
}

function haltSentence(finding: string): string {
  return (
    `recording and signing are stopped: ${finding}. The database seems to have been restored from an ` +
    'older backup, or its log was changed, or another installation with the same signing key uses this ' +
    'object store. Restore the newer one, or run `indelible log reopen`'
  );
}
