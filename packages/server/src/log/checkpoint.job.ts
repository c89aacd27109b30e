import {
  createFrontier,
  formatCheckpoint,
  formatNote,
  noteKeyId,
  rootAtSize,
  type Sha256,
} from '@indelible/protocol';
import { type Database, type TenantTx, type WriterTx, write } from '../db.ts';
import type { ObjectStore } from '../objects.ts';
import { unavailable } from '../problem.ts';
import type { Signer } from '../signer.ts';
import {
  type DirtyLog,
  dirtyLogs,
  haltLog,
  headsByLogId,
  publishRound,
  type SignedCheckpoint,
  takeRound,
} from './checkpoint.store.ts';
import { originOf, readRound, roundName, writeRound } from './round.ts';
import { treeNodes } from './tree.store.ts';

export interface CheckpointDeps {
  db: Database;
  sha: Sha256;
  now: () => number;
  objects: ObjectStore;
  signer: Signer;
  /** Host part of every origin. */
  originHost: string;
  /** Hears of rounds that failed and of the halt. */
  observer: CheckpointObserver;
}

export interface CheckpointObserver {
  published(checkpoints: number): void;
  roundFailed(error: unknown): void;
  halted(reason: string): void;
}

const logsPerRound = 20_000;
const onDemandEveryMs = 1_000;

/**
 * Signs what the logs have come to, and guards against a rewound database. The order of a round
 * makes the guard: (1) take the round's number, (2) sign, (3) write `checkpoints/<round>` to the object
 * store unless it exists, (4) release. A crash between 3 and 4 leaves an object that agrees with the
 * logs: the next round takes it over. A database restored from an older backup counts its rounds from
 * the past, meets an object that promises more than its logs hold, and recording stops.
 */
export class CheckpointJob {
  readonly #deps: CheckpointDeps;
  #running: Promise<void> | null = null;
  #lastDemandMs = 0;

  constructor(deps: CheckpointDeps) {
    this.#deps = deps;
  }

  get originHost(): string {
    return this.#deps.originHost;
  }

  /** One round; rounds of one process never overlap. Throws when the object store is away. */
  round(): Promise<void> {
    this.#running ??= this.#round().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  /** A round that only logs its failure: for the timer. Signing waits, recording goes on. */
  async tick(): Promise<void> {
    await this.round().catch((error) => this.#deps.observer.roundFailed(error));
  }

  /** A round for a caller who needs a newer checkpoint; at most one a second. */
  async onDemand(): Promise<void> {
    const now = this.#deps.now();
    if (this.#running === null && now - this.#lastDemandMs < onDemandEveryMs && now >= this.#lastDemandMs) {
      throw unavailable('the checkpoint of this event is being made; ask again in a second');
    }
    this.#lastDemandMs = now;
    await this.round().catch((error) => {
      this.#deps.observer.roundFailed(error);
      throw unavailable('no checkpoint can be published just now; recording goes on', 10);
    });
  }

  async #round(): Promise<void> {
    const published = await write(this.#deps.db, async (tx) => {
      const taken = await takeRound(tx);
      if (!taken || taken.halted !== null) return 0;
      const round = await this.#takeOver(tx, taken.round + 1);
      return round === null ? 0 : this.#publish(tx, round);
    });
    this.#deps.observer.published(published);
  }

  /**
   * Goes past rounds that are in the store but not in the database. Returns the first free number,
   * or null when one of them shows that the database has been rewound.
   */
  async #takeOver(tx: WriterTx, first: number): Promise<number | null> {
    for (let round = first; ; round++) {
      const body = await this.#deps.objects.get(roundName(round));
      if (body === null) return round;
      const found = await this.#agreeing(tx, body);
      if (typeof found === 'string') {
        await this.#halt(tx, `checkpoint round ${round} is already published, and ${found}`);
        return null;
      }
      await publishRound(tx, round, found, this.#deps.now());
    }
  }

  /** The round's checkpoints when all of them agree with the logs as they are, else what does not. */
  async #agreeing(tx: WriterTx, body: Uint8Array): Promise<SignedCheckpoint[] | string> {
    const checkpoints = readRound(body);
    const heads = await headsByLogId(tx, checkpoints.map((c) => c.logId));
    const agreeing: SignedCheckpoint[] = [];
    for (const { note, logId, checkpoint } of checkpoints) {
      const { size, root } = checkpoint;
      const head = heads.get(logId);
      if (!head) return `the log ${logId} it names does not exist here`;
      if (head.size < size) return `the log ${logId} has ${head.size} of the ${size} entries it promises`;
      if (!equal(await this.#rootAt(tx, head.tenantId, size), root)) {
        return `the first ${size} entries of the log ${logId} are others than it promises`;
      }
      agreeing.push({ tenantId: head.tenantId, logId, size, root, note });
    }
    return agreeing;
  }

  async #publish(tx: WriterTx, round: number): Promise<number> {
    const { objects, now } = this.#deps;
    const logs = await dirtyLogs(tx, logsPerRound);
    if (logs.length === 0) return 0;
    const signed: SignedCheckpoint[] = [];
    for (const log of logs) {
      const damage = await this.#contradiction(tx, log);
      if (damage === null) signed.push(await this.#sign(log));
      else await this.#halt(tx, damage);
      if (damage !== null) return 0;
    }
    const at = new Date(now()).toISOString();
    const body = writeRound({ round, at, notes: signed.map((each) => each.note) });
    // Somebody else's object under this number is judged by the next round.
    if (!(await objects.putIfAbsent(roundName(round), body))) return 0;
    await publishRound(tx, round, signed, now());
    return signed.length;
  }

  /** A log must never sign what contradicts what it signed before (C2SP tlog-checkpoint). */
  async #contradiction(tx: WriterTx, log: DirtyLog): Promise<string | null> {
    if (log.signedSize === null || log.signedRoot === null) return null;
    if (log.size < log.signedSize) {
      return `the log ${log.logId} has ${log.size} entries, but ${log.signedSize} were published`;
    }
    if (equal(await this.#rootAt(tx, log.tenantId, log.signedSize), log.signedRoot)) return null;
    return `the first ${log.signedSize} entries of the log ${log.logId} are not those that were published`;
  }

  async #rootAt(tx: WriterTx, tenantId: string, size: number): Promise<Uint8Array> {
    const { sha } = this.#deps;
    const reader: TenantTx = { tenantId, query: (query) => tx.query(query) };
    return rootAtSize(sha, treeNodes(reader, sha), size).catch((error) => {
      // What is not there cannot agree with what was published.
      if (error instanceof RangeError) return new Uint8Array();
      throw error;
    });
  }

  async #sign(log: DirtyLog): Promise<SignedCheckpoint> {
    const { sha, signer, originHost } = this.#deps;
    const { tenantId, logId, size } = log;
    const origin = originOf(originHost, logId);
    const root = createFrontier({ size, frontier: log.frontier }, sha).root();
    const text = formatCheckpoint({ origin, size, root });
    const keyId = noteKeyId(sha, origin, await signer.publicKey());
    const signature = await signer.sign(new TextEncoder().encode(text));
    return { tenantId, logId, size, root, note: formatNote(text, [{ name: origin, keyId, signature }]) };
  }

  async #halt(tx: WriterTx, finding: string): Promise<void> {
    const reason =
      `recording and signing are stopped: ${finding}. The database seems to have been restored from an ` +
      'older backup, or its log was changed. Restore the newer one, or run `indelible log reopen`';
    await haltLog(tx, reason);
    this.#deps.observer.halted(reason);
  }
}

function equal(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}
