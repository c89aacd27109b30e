import { formatVerifierKey, openCheckpoint, type Sha256 } from '@indelible/protocol';
import {
  fetchRounds,
  type LogCheckpoint,
  type PublishedRound,
  type RoundKeys,
  type RoundStore,
  readNote,
  roundOf,
  stateOf,
} from './round.ts';

/** A log's checkpoint, with its round and time. */
export interface PublishedLog extends LogCheckpoint {
  round: number;
  atMs: number;
}

export type PublishedLogs = ReturnType<RoundWalk['found']>;

export interface Retirement {
  /** The log that continued with the entries, if known. */
  nextLogId: string | null;
  /** The round of the reopening; for a log with two histories, that of the later one. */
  round: number;
}

/**
 * Everything published since the database's `last` round, from the newest round back. Ends at the
 * `last` round if that one signed exactly what the database knows (`known`), which then covers
 * earlier rounds. Otherwise the database was changed, or objects are missing, and all rounds are
 * read. A reopening does not end the walk: the logs that it retired are in earlier rounds.
 */
export async function publishedLogs(
  store: RoundStore,
  keys: RoundKeys,
  known: ReadonlyMap<string, PublishedLog>,
  last: number,
): Promise<PublishedLogs> {
  const { sha, objects } = store;
  const numbers = (await objects.list('checkpoints')).flatMap((name) => roundOf(name) ?? []);
  numbers.sort((a, b) => b - a);
  const walk = new RoundWalk(sha);
  for await (const { found } of fetchRounds(store, numbers, keys)) {
    if (typeof found === 'string') continue;
    if (found.round === last && walk.isState(found, known)) {
      walk.end(found, known);
      return walk.found(numbers);
    }
    walk.take(found);
  }
  for (const log of known.values()) {
    const signed = await signedLog(sha, keys, log);
    if (signed) walk.add(signed);
  }
  return walk.found(numbers);
}

/** The checkpoint in the database, if its note says the same under a key of the service. */
async function signedLog(
  sha: Sha256,
  { known }: RoundKeys,
  log: PublishedLog,
): Promise<PublishedLog | null> {
  const [origin = ''] = log.note.split('\n', 1);
  if (/[\s+]/.test(origin) || origin === '') return null;
  const vkeys = known.map((key) => formatVerifierKey(sha, origin, key));
  const opened = await openCheckpoint(sha, log.note, vkeys);
  if (opened.code !== 'valid') return null;
  return { ...log, ...readNote(log.note) };
}

interface FoundLog {
  newest: PublishedLog;
  oldest: PublishedLog;
  largest: PublishedLog;
}

/** Collects rounds, newest first. */
export class RoundWalk {
  readonly #sha: Sha256;
  readonly #logs = new Map<string, FoundLog>();
  readonly #named = new Map<string, Retirement>();
  readonly #forked = new Set<string>();
  readonly #reopenings: { round: number; logIds: Set<string> }[] = [];
  #newest: PublishedRound | null = null;

  constructor(sha: Sha256) {
    this.#sha = sha;
  }

  isState(round: PublishedRound, logs: ReadonlyMap<string, PublishedLog>): boolean {
    return Buffer.compare(stateOf(this.#sha, logs.values()), round.state) === 0;
  }

  take(round: PublishedRound): void {
    this.#newest ??= round;
    const atMs = Date.parse(round.at);
    for (const checkpoint of round.checkpoints) {
      this.add({ ...checkpoint, round: round.round, atMs });
    }
    if (!round.isReopening) return;
    const logIds = new Set(round.checkpoints.map(({ logId }) => logId));
    this.#reopenings.push({ round: round.round, logIds });
    for (const { logId, nextLogId } of round.retired) {
      if (!this.#named.has(logId)) this.#named.set(logId, { nextLogId, round: round.round });
    }
  }

  /** The last round that the database knows, and everything before it. */
  end(round: PublishedRound, known: ReadonlyMap<string, PublishedLog>): void {
    this.#newest ??= round;
    for (const log of known.values()) this.add(log);
  }

  add(log: PublishedLog): void {
    const found = this.#logs.get(log.logId);
    if (!found) {
      this.#logs.set(log.logId, { newest: log, oldest: log, largest: log });
      return;
    }
    if (log.round <= found.oldest.round) {
      if (contradicts(log, found.oldest)) this.#forked.add(log.logId);
      found.oldest = log;
    }
    if (log.size > found.largest.size) found.largest = log;
  }

  /** `numbers`: those that are taken, by any writer. */
  found(numbers: readonly number[]) {
    const all = [...this.#logs.values()];
    const newest = this.#newest;
    const current = all.flatMap(({ newest: log }) =>
      newest !== null && log.round <= newest.round && !this.#isLeftOut(log) ? [log] : [],
    );
    const retired = new Map(this.#named);
    for (const [logId, log] of this.#logs) {
      const isRetired = this.#isLeftOut(log.oldest) || this.#forked.has(logId);
      if (isRetired && !retired.has(logId)) {
        retired.set(logId, { nextLogId: null, round: log.newest.round });
      }
    }
    const taken = new Set(numbers);
    let free = (newest?.round ?? 0) + 1;
    while (taken.has(free)) free += 1;
    return {
      /** The largest checkpoint ever published of each log, by log id, also of retired ones. */
      logs: byId(all.map(({ largest }) => largest)),
      /** Must never be signed again, as a log for which an earlier release signed two histories. */
      retired,
      /**
       * False if objects are missing: then checkpoints were published that are unknown here, and no
       * log can be known to be complete.
       */
      isWhole: newest === null || this.isState(newest, byId(current)),
      /** The newest round of this service; null if there is none. */
      newest,
      /** Have a checkpoint that is smaller than an earlier one, or differs at the same size. */
      forked: this.#forked as ReadonlySet<string>,
      /**
       * Whether nothing stands where rounds do, but what a reopening in a new store left that ended
       * before its COMMIT: reopenings of this service, which the database does not know.
       */
      isNew: numbers.length === this.#reopenings.length,
      /** The first free number behind the newest round; objects far behind do not count. */
      free,
    };
  }

  /** Whether a reopening behind this round, of those gathered, does not go on with the log. */
  isRetired(logId: string, round: number): boolean {
    return this.#named.has(logId) || this.#isLeftOut({ logId, round });
  }

  /** Whether a later reopening does not continue the log. */
  #isLeftOut({ logId, round: published }: Pick<PublishedLog, 'logId' | 'round'>): boolean {
    return this.#reopenings.some(({ round, logIds }) => round > published && !logIds.has(logId));
  }
}

/** Whether an earlier round has more of a log, or other entries, than a later one. */
function contradicts(earlier: PublishedLog, later: PublishedLog): boolean {
  if (earlier.size !== later.size) return earlier.size > later.size;
  return Buffer.compare(earlier.root, later.root) !== 0;
}

function byId(logs: readonly PublishedLog[]): Map<string, PublishedLog> {
  return new Map(logs.map((log) => [log.logId, log]));
}
