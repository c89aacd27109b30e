import {
  FormatError,
  formatBase64,
  formatNote,
  formatVerifierKey,
  noteKeyId,
  parseBase64,
  parseCheckpoint,
  parseNote,
  type Sha256,
  verifyNote,
} from '@indelible/protocol';
import type { Signer } from '../crypto/signer.ts';
import { readObject } from '../objects/read-object.ts';
import type { Parts } from '../parts.ts';

/**
 * The object of a round: every checkpoint to be released, and a note over all of it, signed by the
 * service. Without that note any file could be a round.
 */
interface RoundObject {
  round: number;
  /** When it was signed, ISO 8601. */
  at: string;
  notes: string[];
  /** Only of a reopening: ids of logs in hex as in origins, and the log that continues each. */
  retired?: [log: string, next: string | null][];
  signed: string;
}

/** A log whose origin is never signed again, and the log that continues its entries, if any. */
export interface RetiredLog {
  logId: string;
  nextLogId: string | null;
}

/** A round to sign. */
export interface Round {
  round: number;
  at: string;
  notes: readonly string[];
  /** `stateOf` all logs after this round is released. */
  state: Uint8Array;
  /**
   * Of `log reopen`: `notes` has the checkpoints of all logs. A published log that is not among
   * them is retired.
   */
  isReopening: boolean;
  /** The logs that a reopening retires. Rounds of earlier releases do not name them. */
  retired?: readonly RetiredLog[];
}

/** A signed checkpoint of a log, and what its note says. */
export interface LogCheckpoint {
  logId: string;
  size: number;
  root: Uint8Array;
  note: string;
}

/** Ed25519 keys that sign rounds: signing keys, and the installation key. */
export interface RoundKeys {
  known: readonly Uint8Array[];
  installation?: Uint8Array;
}

/** A round with a valid signature of one of these keys, whose checkpoints are not read. */
interface SealedRound extends Pick<Round, 'round' | 'at' | 'state' | 'isReopening'> {
  /** False: of these keys only the installation key signed it. */
  isKnown: boolean;
  /** The round's bytes in the object store. */
  object: Uint8Array;
}

export interface PublishedRound extends SealedRound {
  checkpoints: LogCheckpoint[];
  retired: RetiredLog[];
}

/** Rounds are numbered from 1 without gaps, so the object after the last one must not exist. */
export function roundName(round: number): string {
  return `checkpoints/${String(round).padStart(12, '0')}.json`;
}

/** The number in an object's name; null if it is not a round. */
export function roundOf(name: string): number | null {
  const digits = /^checkpoints\/(\d{12})\.json$/.exec(name)?.[1];
  return digits === undefined ? null : Number(digits);
}

const keyName = 'indelible/rounds';

/** Longer than a reopening of some 300,000 logs: other objects must not fill the memory. */
export const roundBytesMax = 128 * 2 ** 20;

/** The object of a round, signed with each of these keys. Throws a sentence if it is too long. */
export async function writeRound(
  sha: Sha256,
  signers: readonly Signer[],
  { round, at, notes, state, isReopening, retired }: Round,
): Promise<Uint8Array> {
  const kind = isReopening ? `${round} reopened` : `${round}`;
  const object = { round, at, notes, ...(retired && { retired: retired.map(inHex) }) };
  const contents = formatBase64(contentsOf(sha, object));
  const text = `${keyName}\n${kind}\n${contents}\n${formatBase64(state)}\n`;
  const signatures = signers.map(async (signer) => ({
    name: keyName,
    keyId: noteKeyId(sha, keyName, await signer.publicKey()),
    signature: await signer.sign(new TextEncoder().encode(text)),
  }));
  const signed = formatNote(text, await Promise.all(signatures));
  const bytes = new TextEncoder().encode(`${JSON.stringify({ ...object, signed })}\n`);
  // Unread it would guard nothing.
  if (bytes.length > roundBytesMax) throw new Error(`round ${round} has too many logs to be read`);
  return bytes;
}

const inHex = ({ logId, nextLogId }: RetiredLog): [string, string | null] => [
  logId.replaceAll('-', ''),
  nextLogId?.replaceAll('-', '') ?? null,
];

const signedText = new RegExp(`^${keyName}\\n(\\d+)( reopened)?\\n(.{44})\\n(.{44})\\n$`);

/**
 * Reads the object of this round. Null if none of these keys has signed it for this number: such an
 * object proves nothing.
 */
export async function readRound(
  sha: Sha256,
  round: number,
  bytes: Uint8Array,
  keys: RoundKeys,
): Promise<PublishedRound | null> {
  const sealed = await openRound(sha, round, bytes, keys);
  if (sealed === null) return null;
  try {
    const { contents, ...seal } = sealed;
    const { notes, retired: pairs = [] } = contents;
    const retired = pairs.map(([log, next]) => ({
      logId: hexToLogId(log),
      nextLogId: next && hexToLogId(next),
    }));
    return { ...seal, checkpoints: notes.map(readNote), retired };
  } catch (error) {
    if (error instanceof FormatError) return null;
    throw error;
  }
}

/** Opens a round without reading its checkpoints, which takes most of the time for many logs. */
async function openRound(
  sha: Sha256,
  round: number,
  bytes: Uint8Array,
  { known, installation }: RoundKeys,
): Promise<(SealedRound & { contents: RoundObject }) | null> {
  try {
    const object = parseObject(bytes);
    if (object === null) return null;
    const note = parseNote(object.signed);
    const [, number, reopened, contents, state = ''] = signedText.exec(note.text) ?? [];
    if (Number(number) !== round) return null;
    if (contents !== formatBase64(contentsOf(sha, object))) return null;
    const isBy = async (keys: readonly Uint8Array[]) => {
      const vkeys = keys.map((key) => formatVerifierKey(sha, keyName, key));
      return (await verifyNote(sha, note, vkeys)) === 'valid';
    };
    const isKnown = await isBy(known);
    if (!isKnown && !(installation && (await isBy([installation])))) return null;
    return {
      round,
      at: object.at,
      state: parseBase64(state) ?? new Uint8Array(),
      isReopening: reopened !== undefined,
      isKnown,
      object: bytes,
      contents: object,
    };
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof FormatError) return null;
    throw error;
  }
}

export type RoundStore = Pick<Parts, 'sha' | 'objects'>;

/** What the object store has under a number: `foreign` if none of the keys signed it. */
export type FoundRound = PublishedRound | 'missing' | 'foreign';

/** What the store has under the name of a round; its checkpoints are unread. */
export type FoundSeal = SealedRound | 'missing' | 'foreign';

export const fetchRound = (store: RoundStore, round: number, keys: RoundKeys) =>
  fetchAs(readRound, store, round, keys);

export const fetchSeal = (store: RoundStore, round: number, keys: RoundKeys): Promise<FoundSeal> =>
  fetchAs(openRound, store, round, keys);

async function fetchAs<T>(
  read: (sha: Sha256, round: number, body: Uint8Array, keys: RoundKeys) => Promise<T | null>,
  { sha, objects }: RoundStore,
  round: number,
  keys: RoundKeys,
): Promise<T | 'missing' | 'foreign'> {
  try {
    const body = await readObject(objects, roundName(round), roundBytesMax);
    return body === null ? 'missing' : ((await read(sha, round, body, keys)) ?? 'foreign');
  } catch (error) {
    if (error instanceof FormatError) return 'foreign'; // longer than any round
    throw error;
  }
}

const roundsAtOnce = 32;

/** These rounds, in this order. */
export async function* fetchRounds(
  store: RoundStore,
  numbers: readonly number[],
  keys: RoundKeys,
): AsyncGenerator<{ number: number; found: FoundRound }> {
  for (let at = 0; at < numbers.length; at += roundsAtOnce) {
    const fetching = numbers.slice(at, at + roundsAtOnce).map(async (number) => {
      return { number, found: await fetchRound(store, number, keys) };
    });
    yield* await Promise.all(fetching);
  }
}

function parseObject(bytes: Uint8Array): RoundObject | null {
  const read: unknown = JSON.parse(new TextDecoder().decode(bytes));
  const { round, at, notes, retired, signed } = (read ?? {}) as Partial<Record<string, unknown>>;
  const areNotes = Array.isArray(notes) && notes.every((note) => typeof note === 'string');
  if (typeof round !== 'number' || typeof at !== 'string' || !areNotes) return null;
  if (typeof signed !== 'string') return null;
  if (retired === undefined) return { round, at, notes, signed };
  return areRetired(retired) ? { round, at, notes, retired, signed } : null;
}

function areRetired(value: unknown): value is [string, string | null][] {
  const isLog = (log: unknown) => typeof log === 'string' && /^[0-9a-f]{32}$/.test(log);
  return (
    Array.isArray(value) &&
    value.every((pair) => Array.isArray(pair) && pair.length === 2) &&
    value.every(([log, next]) => isLog(log) && (next === null || isLog(next)))
  );
}

const contentsOf = (
  sha: Sha256,
  { at, notes, retired }: Pick<Round, 'at' | 'notes'> & Pick<RoundObject, 'retired'>,
) => sha(new TextEncoder().encode(JSON.stringify(retired ? [at, notes, retired] : [at, notes])));

/** Throws FormatError. */
export function readNote(note: string): LogCheckpoint {
  const { origin, size, root } = parseCheckpoint(parseNote(note).text);
  const logId = logIdOf(origin);
  if (logId === null) throw new FormatError('the origin names no log');
  return { logId, size, root, note };
}

/**
 * One hash over the newest checkpoints of all logs: SHA-256 of `log id (16 bytes) ‖ u64 size ‖ root
 * ‖ SHA-256(note)` of each, by log id. `releasedState` computes the same from the database.
 */
export function stateOf(sha: Sha256, checkpoints: Iterable<LogCheckpoint>): Uint8Array {
  const rows = [...checkpoints].sort((a, b) => (a.logId < b.logId ? -1 : 1));
  const parts = rows.map(({ logId, size, root, note }) => {
    const head = Buffer.alloc(24);
    head.write(logId.replaceAll('-', ''), 'hex');
    head.writeBigUInt64BE(BigInt(size), 16);
    return Buffer.concat([head, root, sha(new TextEncoder().encode(note))]);
  });
  return sha(Buffer.concat(parts));
}

/** `<host>/l/<32 hex>`: does not identify a tenant. */
export function originOf(host: string, logId: string): string {
  return `${host}/l/${logId.replaceAll('-', '')}`;
}

/** The log id in an origin, as a UUID; null if there is none. */
export function logIdOf(origin: string): string | null {
  const hex = /\/l\/([0-9a-f]{32})$/.exec(origin)?.[1];
  return hex === undefined ? null : hexToLogId(hex);
}

export function hexToLogId(hex: string): string {
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
