import {
  type Checkpoint,
  clockSlackMs,
  type Findings,
  FormatError,
  formatAnyTimestamp,
  openCheckpoint,
  parseCheckpoint,
  parseNote,
  parseTimestamp,
  parseVerifierKey,
  readOrNull,
  receivedAtUs,
} from '@indelible/protocol';
import type { Reading } from './entry-file.ts';
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
  /** The names of the keys that signed it. */
  signedBy: string[];
}

/** The checkpoint in an unverified note; null if it has none. */
export function claimedCheckpoint(note: Uint8Array | string): Checkpoint | null {
  return readOrNull(() => parseCheckpoint(parseNote(note).text));
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
    findings.add(opened.code, opened.message);
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

/** The periods of use in a list of keys of the service; skips keys without one. */
export function keyWindowsOf(keys: readonly unknown[]): KeyWindow[] {
  return keys.flatMap((key) => {
    const { vkey, notAfter } = (key ?? {}) as { vkey?: unknown; notAfter?: unknown };
    const notAfterMs = typeof notAfter === 'string' ? parseTimestamp(notAfter) : null;
    const isKnown = typeof vkey === 'string' && (notAfter === null || notAfterMs !== null);
    return isKnown ? [{ vkey, notAfterMs }] : [];
  });
}

/**
 * A checkpoint has no time of signing, but it was signed after its last entry. A key that was
 * retired before then may have been stolen.
 */
export function compareWithWindows({ file, findings }: Reading, signed: SignedCheckpoint): void {
  const { keys, signedBy } = signed;
  if (file.size === 0) return;
  const lastMs = receivedAtUs(file.at(file.size - 1)) / 1_000;
  // A key that was used again has a period for each time.
  const windows = (keys.windows ?? []).filter(({ vkey }) => signedBy.includes(vkey));
  const isOpen = windows.some(
    ({ notAfterMs }) => notAfterMs === null || lastMs <= notAfterMs + clockSlackMs,
  );
  if (isOpen || windows.length === 0) return;
  const endMs = Math.max(...windows.map(({ notAfterMs }) => notAfterMs ?? 0));
  const message =
    `The checkpoint covers entries up to ${formatAnyTimestamp(Math.floor(lastMs))}, but the key that ` +
    `signed it was in use until ${formatAnyTimestamp(endMs)}.`;
  findings.add('retired_key', message);
}
