import type { Sha256 } from '@indelible/protocol';
import type { ObjectStore } from '../objects/object-store.ts';
import {
  type PublishedRound,
  type ReleasedCheckpoint,
  readRound,
  roundName,
  roundOf,
  stateOf,
} from './round.ts';

/** A log's newest checkpoint, the round it came with and when. */
export interface PublishedLog extends ReleasedCheckpoint {
  round: number;
  atMs: number;
}

export interface PublishedLogs {
  /** The newest checkpoint of each log, by log id. */
  logs: Map<string, PublishedLog>;
  /** The newest round of the service's own; null when the store has none. */
  newest: PublishedRound | null;
  /** The highest number that is taken, whoever took it; 0 when none is. */
  highest: number;
}

export interface PublishedLogsDeps {
  sha: Sha256;
  objects: ObjectStore;
  /** Ed25519 keys of which one must have signed what is believed. */
  publicKeys: readonly Uint8Array[];
}

/**
 * What the object store says was published, read from the newest round back until the state that
 * that one signed is complete: with what the database knows (`known`, up to its round `last`), if
 * that fits, else by itself. Where objects are missing, the newest that can be found of each log
 * counts. A round of a reopening is complete by itself, if the database holds that reopening.
 */
export async function publishedLogs(
  { sha, objects, publicKeys }: PublishedLogsDeps,
  known: ReadonlyMap<string, PublishedLog>,
  last: number,
): Promise<PublishedLogs> {
  const numbers = (await objects.list('checkpoints')).flatMap((name) => roundOf(name) ?? []);
  numbers.sort((a, b) => b - a);
  const highest = numbers[0] ?? 0;
  const found = new Map<string, PublishedLog>();
  let newest: PublishedRound | null = null;
  for (const number of numbers) {
    const body = await objects.get(roundName(number));
    const round = body && (await readRound(sha, number, body, publicKeys));
    if (!round) continue;
    const isFirst = newest === null;
    newest ??= round;
    const isNew = addMissing(found, round);
    if (round.isReopening && number <= last) return { logs: found, newest, highest };
    // Compared only when it can have changed: a quiet log may lie a million rounds back.
    const whole = isFirst || isNew ? complete(sha, newest.state, found, known) : null;
    if (whole) return { logs: whole, newest, highest };
  }
  return { logs: new Map([...known, ...found]), newest, highest };
}

function addMissing(found: Map<string, PublishedLog>, round: PublishedRound): boolean {
  const before = found.size;
  const atMs = Date.parse(round.at);
  for (const { logId, note, checkpoint } of round.checkpoints) {
    const { size, root } = checkpoint;
    if (!found.has(logId)) found.set(logId, { logId, size, root, note, round: round.round, atMs });
  }
  return found.size > before;
}

function complete(
  sha: Sha256,
  state: Uint8Array,
  found: Map<string, PublishedLog>,
  known: ReadonlyMap<string, PublishedLog>,
): Map<string, PublishedLog> | null {
  const candidates = [new Map([...known, ...found]), found];
  const fits = (logs: Map<string, PublishedLog>) =>
    Buffer.compare(stateOf(sha, logs.values()), state) === 0;
  return candidates.find(fits) ?? null;
}
