import {
  type Checkpoint,
  type Findings,
  FormatError,
  openCheckpoint,
  parseCheckpoint,
  parseNote,
  parseVerifierKey,
} from '@indelible/protocol';
import { addDamage } from './damage.ts';
import { sha } from './hashing.ts';

/** Until when a verifier key was in use, as those say who state it; null for the one in use. */
export interface KeyWindow {
  vkey: string;
  notAfterMs: number | null;
}

/** Where the verifier keys come from, and so what a signature is worth. */
export type KeySource = 'pinned' | 'service' | 'bundle' | 'archive';

export interface Keys {
  source: KeySource;
  /** C2SP vkey lines. */
  vkeys: string[];
  /** Until when they were in use, where that is stated. */
  windows?: readonly KeyWindow[];
}

/** A checkpoint whose signature was checked. */
export interface SignedCheckpoint {
  checkpoint: Checkpoint;
  note: string;
  keys: Keys;
  /** Those of the keys that signed it. */
  signedBy: string[];
}

/** The origin that a note claims, for asking for its keys; null when it is no checkpoint. */
export function claimedOrigin(note: Uint8Array): string | null {
  try {
    return parseCheckpoint(parseNote(note).text).origin;
  } catch (error) {
    if (error instanceof FormatError) return null;
    throw error;
  }
}

/** The checkpoint of a note that one of the keys has signed; otherwise null, and a finding. */
export async function trustedCheckpoint(
  note: Uint8Array,
  keys: Keys,
  findings: Findings,
): Promise<SignedCheckpoint | null> {
  const opened = await openCheckpoint(sha, note, keys.vkeys).catch((error: unknown) => {
    if (!(error instanceof FormatError)) throw error;
    return { code: 'unknown_key', message: `A key cannot be read: ${error.message}.` } as const;
  });
  if (opened.code !== 'valid') {
    addDamage(findings, opened.code, opened.message);
    return null;
  }
  const text = new TextDecoder().decode(note);
  const signedBy = keys.vkeys.filter((vkey) => hasSigned(text, vkey));
  return { checkpoint: opened.checkpoint, note: text, keys, signedBy };
}

// The signatures themselves have been checked, so that names and ids tell which key it was.
function hasSigned(note: string, vkey: string): boolean {
  const { name, keyId } = parseVerifierKey(sha, vkey);
  return parseNote(note).signatures.some(
    (signature) => signature.name === name && Buffer.compare(signature.keyId, keyId) === 0,
  );
}
