import { type Checkpoint, parseCheckpoint, parseNote } from '@indelible/protocol';

/** What a round puts into the object store: every checkpoint it is about to release. */
export interface Round {
  round: number;
  at: string;
  notes: string[];
}

/** Rounds are numbered without gaps, so the object after the last one must not exist. */
export function roundName(round: number): string {
  return `checkpoints/${String(round).padStart(12, '0')}.json`;
}

export function writeRound(round: Round): Uint8Array {
  return new TextEncoder().encode(`${JSON.stringify(round)}\n`);
}

/** The checkpoints of a round object, with their notes. Throws for anything a round never wrote. */
export function readRound(bytes: Uint8Array): { note: string; checkpoint: Checkpoint; logId: string }[] {
  const { notes } = JSON.parse(new TextDecoder().decode(bytes)) as Round;
  return notes.map((note) => {
    const checkpoint = parseCheckpoint(parseNote(note).text);
    return { note, checkpoint, logId: logIdOf(checkpoint.origin) };
  });
}

/** `<host>/l/<32 hex>`: names no tenant. */
export function originOf(host: string, logId: string): string {
  return `${host}/l/${logId.replaceAll('-', '')}`;
}

/** The log id in an origin, as a UUID; '' when there is none. */
export function logIdOf(origin: string): string {
  const hex = /\/l\/([0-9a-f]{32})$/.exec(origin)?.[1];
  return hex ? hexToLogId(hex) : '';
}

export function hexToLogId(hex: string): string {
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
