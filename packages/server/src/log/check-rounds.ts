import type { GetNode } from '@indelible/protocol';
import { type Signer, seedSigner } from '../crypto/signer.ts';
import type { Parts } from '../parts.ts';
import { type WriterTx, write } from '../postgres/db.ts';
import { inSnapshot } from './check-log.store.ts';
import { releasedState, roundsNow, signingKeys } from './checkpoint.store.ts';
import { hasRoot } from './guard.store.ts';
import { newerKey } from './guard.ts';
import { RoundWalk } from './published-logs.ts';
import { allLogs } from './reopen.store.ts';
import {
  type PublishedRound,
  type RoundCheckpoint,
  readRound,
  roundName,
  roundOf,
} from './round.ts';
import { readIdentity, refusalOf } from './store-identity.ts';
import { treeReader } from './tree.store.ts';

export interface RoundCheckDeps extends Pick<Parts, 'db' | 'sha' | 'objects'> {
  signer: Signer;
}

/**
 * What is wrong with the published rounds. Stable:
 * - `halted`: the service has stopped recording, and why
 * - `foreign_store`: the object store is not the installation's
 * - `missing_round`, `foreign_round`: an object is not there, or no key of the service signed it
 * - `newer_key`: a signing key signed it that the database does not know
 * - `contradicted`: a log does not hold the entries of a checkpoint that was published of it
 * - `missing_log`: a log that was published and never retired does not exist
 * - `forked`: an origin has two checkpoints that contradict each other
 * - `incomplete`: the checkpoints found are not those that the newest round signed
 * - `changed_checkpoints`: those in the database are not those of its last round
 */
export type RoundFindingCode =
  | 'halted'
  | 'foreign_store'
  | 'missing_round'
  | 'foreign_round'
  | 'newer_key'
  | 'contradicted'
  | 'missing_log'
  | 'forked'
  | 'incomplete'
  | 'changed_checkpoints';

export interface RoundFinding {
  code: RoundFindingCode;
  message: string;
}

/** Part of the rounds, newest first: how many there are in all, and what is wrong with these. */
export interface CheckedRounds {
  total: number;
  rounds: number;
  checkpoints: number;
  findings: RoundFinding[];
}

const roundsAtOnce = 32;
const checkpointsAtOnce = 10;

/**
 * Holds every round against the trees that the database has now, newest first, so that what a
 * reopening retired is known before the checkpoints that came earlier. Memory grows with the logs,
 * not with entries or rounds. Trees are read as they are stored: whether tiles and entries agree is
 * for others to check.
 */
export async function* checkRounds(deps: RoundCheckDeps): AsyncGenerator<CheckedRounds> {
  // Before the logs are looked at: a round that comes later may name a log that is new.
  const { round } = await roundsNow(deps.db.writer);
  const behind = await deps.objects.list('checkpoints', roundName(round));
  const start = await startOf(deps);
  // Not every number up to the highest: another writer of the store may have chosen that one.
  const extra = behind.flatMap((name) => roundOf(name) ?? []).filter((n) => n > start.last);
  extra.sort((a, b) => b - a);
  const total = start.last + extra.length;
  yield { total, rounds: 0, checkpoints: 0, findings: start.findings };
  const check = new RoundCheck(deps, start);
  for (let at = 0; at < total; at += roundsAtOnce) {
    const numbers = Array.from(
      { length: Math.min(roundsAtOnce, total - at) },
      (_, n) => extra[at + n] ?? total - at - n,
    );
    const bodies = await Promise.all(numbers.map((n) => deps.objects.get(roundName(n))));
    const { findings } = check;
    let checkpoints = 0;
    for (const [at, body] of bodies.entries())
      checkpoints += await check.take(numbers[at] ?? 0, body);
    yield { total, rounds: numbers.length, checkpoints, findings: findings.splice(0) };
  }
  yield { total, rounds: 0, checkpoints: 0, findings: check.end(new Set(extra)) };
}

type Start = Awaited<ReturnType<typeof startOf>>;

async function startOf({ db, sha, objects, signer }: RoundCheckDeps) {
  const inStore = await readIdentity(objects);
  return inSnapshot(db, async (tx) => {
    const { round, halted, seed } = await roundsNow(tx);
    const keys = (await signingKeys(tx)).map(({ publicKey }) => publicKey);
    const refusal = await refusalOf(tx, { sha, objects, publicKeys: [] }, inStore);
    const findings: RoundFinding[] = [];
    if (halted !== null) findings.push({ code: 'halted', message: halted });
    if (refusal !== null) findings.push({ code: 'foreign_store', message: refusal });
    /** Whose each log is; those of earlier origins are added while they are met. */
    const tenants = new Map<string, { tenantId: string; isCurrent: boolean }>();
    for (const { tenantId, logIds } of await allLogs(tx)) {
      for (const logId of logIds) tenants.set(logId, { tenantId, isCurrent: true });
    }
    return {
      /** The last round that the database knows, and the hash of its checkpoints. */
      ...{ last: round, state: await releasedState(tx) },
      ...{ tenants, findings },
      known: [await signer.publicKey(), ...keys],
      own: [await seedSigner(seed).publicKey()],
    };
  });
}

const missing = (number: number) => `${roundName(number)} is missing in the object store`;

class RoundCheck {
  readonly #deps: RoundCheckDeps;
  readonly #start: Start;
  readonly #walk: RoundWalk;
  /** Logs whose tree agrees with a checkpoint of a later round. */
  readonly #held = new Set<string>();
  readonly #missing = new Set<string>();
  #newest = 0;
  readonly findings: RoundFinding[] = [];

  constructor(deps: RoundCheckDeps, start: Start) {
    this.#deps = deps;
    this.#start = start;
    this.#walk = new RoundWalk(deps.sha);
  }

  /** Returns the number of checkpoints in the round. */
  async take(number: number, body: Uint8Array | null): Promise<number> {
    const round = await this.#read(number, body);
    if (round === null) return 0;
    this.#walk.take(round);
    this.#newest = Math.max(this.#newest, number);
    const { tenants } = this.#start;
    for (const { logId, nextLogId } of round.retired) {
      const next = nextLogId === null ? undefined : tenants.get(nextLogId);
      if (next) tenants.set(logId, { ...next, isCurrent: false });
    }
    if (number === this.#start.last && Buffer.compare(round.state, this.#start.state) !== 0) {
      const message = `the checkpoints in the database are not those of its last round, ${number}`;
      this.findings.push({ code: 'changed_checkpoints', message });
    }
    const { checkpoints } = round;
    for (let at = 0; at < checkpoints.length; at += checkpointsAtOnce) {
      await this.#compare(number, checkpoints.slice(at, at + checkpointsAtOnce));
    }
    return checkpoints.length;
  }

  async #read(number: number, body: Uint8Array | null): Promise<PublishedRound | null> {
    const { sha } = this.#deps;
    const name = roundName(number);
    const add = (code: RoundFindingCode, message: string) => this.findings.push({ code, message });
    if (body === null) {
      add('missing_round', missing(number));
      return null;
    }
    const round = await readRound(sha, number, body, this.#start.known);
    if (round) return round;
    const own = await readRound(sha, number, body, this.#start.own);
    if (own) add('newer_key', `${name} is ${newerKey}`);
    else add('foreign_round', `${name} is not signed by this service, or was changed`);
    return own;
  }

  async #compare(round: number, checkpoints: readonly RoundCheckpoint[]): Promise<void> {
    const { db, sha } = this.#deps;
    const { tenants } = this.#start;
    const of = checkpoints.flatMap(({ logId, checkpoint }) => {
      const tenant = tenants.get(logId);
      if (!tenant) this.#addMissing(round, logId);
      return tenant ? [{ logId, ...tenant, ...checkpoint }] : [];
    });
    const held = await write(db, async (tx: WriterTx) => {
      const holds = (nodes: GetNode, size: number, root: Uint8Array) =>
        hasRoot(nodes, sha, size, root);
      return Promise.all(
        of.map((log) => holds(treeReader(tx, sha, log.tenantId), log.size, log.root)),
      );
    });
    for (const [at, { logId, tenantId, isCurrent, size }] of of.entries()) {
      const named = `the checkpoint of ${size} entries of the log ${logId} in round ${round}`;
      if (held[at]) this.#held.add(logId);
      else if (isCurrent) {
        const message = `the log of tenant ${tenantId} does not hold ${named}`;
        this.findings.push({ code: 'contradicted', message });
      } else if (this.#held.has(logId)) {
        const message = `${named} is contradicted by a larger one in a later round`;
        this.findings.push({ code: 'forked', message });
      }
    }
  }

  /** A log without a tenant may have been retired, or lost with its tenant; told once. */
  #addMissing(round: number, logId: string): void {
    if (this.#walk.isRetired(logId, round) || this.#missing.has(logId)) return;
    this.#missing.add(logId);
    const message = `the log ${logId}, published in round ${round}, does not exist`;
    this.findings.push({ code: 'missing_log', message });
  }

  /** `extra`: the numbers behind the last round that the database knows. */
  end(extra: ReadonlySet<number>): RoundFinding[] {
    const { isWhole, forked } = this.#walk.found([]);
    const findings: RoundFinding[] = [...forked].map((logId) => ({
      code: 'forked',
      message: `the log ${logId} has a checkpoint that is smaller than an earlier one, or has another root at the same size`,
    }));
    for (let number = this.#start.last + 1; number < this.#newest; number++) {
      if (extra.has(number)) continue;
      findings.push({ code: 'missing_round', message: missing(number) });
      break; // the gap may be long
    }
    const message = 'the rounds do not hold all checkpoints that the newest of them signed';
    return isWhole ? findings : [...findings, { code: 'incomplete', message }];
  }
}
