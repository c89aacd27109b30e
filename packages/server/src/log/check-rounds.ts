import type { Signer } from '../crypto/signer.ts';
import type { Parts } from '../parts.ts';
import { write } from '../postgres/db.ts';
import { inSnapshot } from './check-log.store.ts';
import { releasedState, roundKeys, roundsNow } from './checkpoint.store.ts';
import { hasRoot } from './guard.store.ts';
import { newerKey } from './guard.ts';
import { storeProblem } from './lost-rounds.ts';
import { RoundWalk } from './published-logs.ts';
import { allLogs } from './reopen.store.ts';
import { type FoundRound, fetchRounds, type LogCheckpoint, roundName, roundOf } from './round.ts';

export interface RoundCheckDeps extends Pick<Parts, 'db' | 'sha' | 'objects'> {
  signer: Signer;
}

/** What is wrong with the published rounds. Stable. */
type RoundFindingCode =
  | 'halted' // the service has stopped recording, and why
  | 'foreign_store' // the object store is not the installation's
  | 'missing_round'
  | 'foreign_round' // no key of the service signed the object
  | 'newer_key' // a signing key signed it that the database does not know
  | 'contradicted' // a log does not hold the entries of a checkpoint that was published of it
  | 'missing_log' // a log that was published and never retired does not exist
  | 'forked' // an origin has two checkpoints that contradict each other
  | 'incomplete' // the checkpoints found are not those that the newest round signed
  | 'changed_checkpoints'; // those in the database are not those of its last round

export interface RoundFinding {
  code: RoundFindingCode;
  message: string;
}

/** One of the rounds, newest first, or none: how many there are in all, and what is wrong. */
export interface CheckedRounds {
  total: number;
  rounds: number;
  checkpoints: number;
  findings: RoundFinding[];
}

const checkpointsAtOnce = 10;

/**
 * Holds every round against the trees that the database has now, newest first, so that what a
 * reopening retired is known before the checkpoints that came earlier. Memory grows with the logs,
 * and by a number with each round. Trees are read as they are stored: whether tiles and entries
 * agree is for others to check.
 */
export async function* checkRounds(deps: RoundCheckDeps): AsyncGenerator<CheckedRounds> {
  // Before the logs are looked at: a round that comes later may name a log that is new.
  const { round } = await roundsNow(deps.db.writer);
  const behind = await deps.objects.list('checkpoints', roundName(round));
  const start = await startOf(deps);
  // Not every number up to the highest: another writer of the store may have chosen that one.
  const extra = behind.flatMap((name) => roundOf(name) ?? []).filter((n) => n > start.last);
  const numbers = [...extra, ...Array.from({ length: start.last }, (_, n) => n + 1)];
  numbers.sort((a, b) => b - a);
  const total = numbers.length;
  yield { total, rounds: 0, checkpoints: 0, findings: start.findings };
  const check = new RoundCheck(deps, start);
  for await (const { number, found } of fetchRounds(deps, numbers, start.keys)) {
    const checkpoints = await check.take(number, found);
    yield { total, rounds: 1, checkpoints, findings: check.findings.splice(0) };
  }
  yield { total, rounds: 0, checkpoints: 0, findings: check.end(new Set(extra)) };
}

type Start = Awaited<ReturnType<typeof startOf>>;

async function startOf({ db, sha, objects, signer }: RoundCheckDeps) {
  const publicKeys = [await signer.publicKey()];
  return inSnapshot(db, async (tx) => {
    const { round, halted, seed } = await roundsNow(tx);
    const problem = await storeProblem(tx, { sha, objects, publicKeys });
    const findings: RoundFinding[] = [];
    if (halted !== null) findings.push({ code: 'halted', message: halted });
    // The walk finds what is missing.
    if (problem?.isForeign) findings.push({ code: 'foreign_store', message: problem.message });
    /** Whose each log is; those of earlier origins are added while they are met. */
    const tenants = new Map<string, { tenantId: string; isCurrent: boolean }>();
    for (const { tenantId, logIds } of await allLogs(tx)) {
      for (const logId of logIds) tenants.set(logId, { tenantId, isCurrent: true });
    }
    return {
      /** The last round that the database knows, and the hash of its checkpoints. */
      last: round,
      state: await releasedState(tx),
      tenants,
      findings,
      keys: await roundKeys(tx, seed, publicKeys),
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
  async take(number: number, round: FoundRound): Promise<number> {
    const name = roundName(number);
    if (round === 'missing') this.#add('missing_round', missing(number));
    if (round === 'foreign')
      this.#add('foreign_round', `${name} is not signed by this service, or was changed`);
    if (typeof round === 'string') return 0;
    if (!round.isKnown) this.#add('newer_key', `${name} is ${newerKey}`);
    this.#walk.take(round);
    this.#newest = Math.max(this.#newest, number);
    const { tenants } = this.#start;
    for (const { logId, nextLogId } of round.retired) {
      const next = nextLogId === null ? undefined : tenants.get(nextLogId);
      if (next) tenants.set(logId, { ...next, isCurrent: false });
    }
    if (number === this.#start.last && Buffer.compare(round.state, this.#start.state) !== 0) {
      const message = `the checkpoints in the database are not those of its last round, ${number}`;
      this.#add('changed_checkpoints', message);
    }
    const { checkpoints } = round;
    for (let at = 0; at < checkpoints.length; at += checkpointsAtOnce) {
      await this.#compare(number, checkpoints.slice(at, at + checkpointsAtOnce));
    }
    return checkpoints.length;
  }

  #add(code: RoundFindingCode, message: string): void {
    this.findings.push({ code, message });
  }

  async #compare(round: number, checkpoints: readonly LogCheckpoint[]): Promise<void> {
    const { db, sha } = this.#deps;
    const { tenants } = this.#start;
    const of = checkpoints.flatMap((checkpoint) => {
      const tenant = tenants.get(checkpoint.logId);
      if (!tenant) this.#addMissing(round, checkpoint.logId);
      return tenant ? [{ ...tenant, ...checkpoint }] : [];
    });
    const held = await write(db, (tx) =>
      Promise.all(of.map((log) => hasRoot(tx, sha, log.tenantId, log))),
    );
    for (const [at, { logId, tenantId, isCurrent, size }] of of.entries()) {
      const named = `the checkpoint of ${size} entries of the log ${logId} in round ${round}`;
      if (held[at]) this.#held.add(logId);
      else if (isCurrent) {
        this.#add('contradicted', `the log of tenant ${tenantId} does not hold ${named}`);
      } else if (this.#held.has(logId)) {
        this.#add('forked', `${named} is contradicted by a larger one in a later round`);
      }
    }
  }

  /** A log without a tenant may have been retired, or lost with its tenant; told once. */
  #addMissing(round: number, logId: string): void {
    if (this.#walk.isRetired(logId, round) || this.#missing.has(logId)) return;
    this.#missing.add(logId);
    this.#add('missing_log', `the log ${logId}, published in round ${round}, does not exist`);
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
