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

/** The stated end of a verifier key's use; null for the current key. */
export interface KeyWindow {
  vkey: string;
  notAfterMs: number | null;
}

/** The source of the verifier keys, on which the value of a signature depends. */
export type KeySource = 'pinned' | 'service' | 'bundle' | 'archive' | 'capsule';

export interface Keys {
  source: KeySource;
  /** C2SP vkey lines. */
  vkeys: string[];
  /** The stated ends of their use. */
  windows?: readonly KeyWindow[];
}

/** A checkpoint with a verified signature. */
export interface SignedCheckpoint {
  checkpoint: Checkpoint;
  note: string;
  keys: Keys;
  /** Those of the keys that signed it. */
  signedBy: string[];
}

/** The origin in an unverified note, for requesting its keys; null if it is not a checkpoint. */
export function claimedOrigin(note: Uint8Array): string | null {
  try {
    return parseCheckpoint(parseNote(note).text).origin;
  } catch (error) {
    if (error instanceof FormatError) return null;
    throw error;
  }
}

/** The checkpoint of a note if one of the keys has signed it; otherwise null, and a finding. */
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

// The signatures are verified, so name and id show which key it was.
function hasSigned(note: string, vkey: string): boolean {
  const { name, keyId } = parseVerifierKey(sha, vkey);
  return parseNote(note).signatures.some(
    (signature) => signature.name === name && Buffer.compare(signature.keyId, keyId) === 0,
  );
}
