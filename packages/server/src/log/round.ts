import { type Checkpoint, parseCheckpoint, parseNote } from '@indelible/protocol';

/** What a round puts into the object store: every checkpoint it is about to release. */
export interface Round {
  round: number;
  /** When it was signed, ISO 8601. */
  at: string;
  notes: string[];
}

/** Rounds are numbered from 1 without gaps, so the object after the last one must not exist. */
export function roundName(round: number): string {
  return `checkpoints/${String(round).padStart(12, '0')}.json`;
}

export function writeRound(round: Round): Uint8Array {
  return new TextEncoder().encode(`${JSON.stringify(round)}\n`);
}

/** A checkpoint of a round, and the id of its log. */
export interface RoundCheckpoint {
  note: string;
  checkpoint: Checkpoint;
  logId: string;
}

/**
 * The checkpoints of a round object. Throws a sentence that names the object when it is nothing that
 * `writeRound` wrote for this number: what cannot be read must not pass for a round that agrees.
 */
export function readRound(round: number, bytes: Uint8Array): RoundCheckpoint[] {
  try {
    const read = JSON.parse(new TextDecoder().decode(bytes)) as Partial<Round>;
    if (read.round !== round || !Array.isArray(read.notes)) throw new Error('another object');
    return read.notes.map(readNote);
  } catch (cause) {
    const name = roundName(round);
    throw new Error(`${name} in the object store is no round of checkpoints`, { cause });
  }
}

function readNote(note: string): RoundCheckpoint {
  const checkpoint = parseCheckpoint(parseNote(note).text);
  const logId = logIdOf(checkpoint.origin);
  if (logId === null) throw new Error('the origin names no log');
  return { note, checkpoint, logId };
}

/** `<host>/l/<32 hex>`: names no tenant. */
export function originOf(host: string, logId: string): string {
  return `${host}/l/${logId.replaceAll('-', '')}`;
}

/** The log id in an origin, as a UUID; null when there is none. */
export function logIdOf(origin: string): string | null {
  const hex = /\/l\/([0-9a-f]{32})$/.exec(origin)?.[1];
  return hex === undefined ? null : hexToLogId(hex);
}

export function hexToLogId(hex: string): string {
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
