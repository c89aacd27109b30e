import {
  decodeUtf8,
  encodeUtf8,
  equalBytes,
  FormatError,
  formatBase64,
  formatHex,
  parseBase64,
} from './bytes.ts';
import type { Sha256 } from './merkle.ts';

/* Notes by C2SP signed-note v1.0.0 (c2sp.org/signed-note), with Ed25519 keys. */

/** One signature line: `— <name> base64(key id ‖ signature)`. */
export interface NoteSignature {
  name: string;
  /** Four bytes that identify a key of that name. */
  keyId: Uint8Array;
  signature: Uint8Array;
}

/** A text that ends in a newline, with its signatures, not yet checked. */
export interface Note {
  text: string;
  signatures: NoteSignature[];
}

/** A key that checks signatures, as a vkey line names it. */
export interface VerifierKey {
  name: string;
  keyId: Uint8Array;
  /** 32 bytes of Ed25519. */
  publicKey: Uint8Array;
}

/** `unknown_key`: no given key signed it. `bad_signature`: one is named, but did not sign it. */
export type NoteVerdict = 'valid' | 'unknown_key' | 'bad_signature';

const noteBytesMax = 1_000_000;
const signaturesMax = 100;
const ed25519 = 1;
const publicKeyBytes = 32;

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
const controlCharacter = /[\0-\x09\x0b-\x1f]/;
const keyName = /^[^\p{White_Space}+]+$/u;
const signatureLine = /^\u2014 ([^ ]+) ([A-Za-z0-9+/]+={0,2})$/;

/**
 * Reads a note without checking its signatures. Throws FormatError: not UTF-8, a control character,
 * no signature, a malformed signature line, over 1 MB or 100 signatures.
 */
export function parseNote(source: string | Uint8Array): Note {
  if (source.length > noteBytesMax) throw new FormatError('the note is larger than 1 MB');
  const note = decodeUtf8(source, 'the note');
  if (controlCharacter.test(note)) throw new FormatError('the note has control characters');
  // The text may contain empty lines, so the last one divides.
  const divide = note.lastIndexOf('\n\n');
  if (divide < 0) throw new FormatError('the note has no empty line before its signatures');
  const signed = note.slice(divide + 2);
  if (!signed.endsWith('\n')) throw new FormatError('the note does not end in a signature line');
  const lines = signed.slice(0, -1).split('\n');
  if (lines.length > signaturesMax) throw new FormatError('the note has over 100 signatures');
  return { text: note.slice(0, divide + 1), signatures: lines.map(parseSignature) };
}

function parseSignature(line: string): NoteSignature {
  const [, name = '', base64 = ''] = signatureLine.exec(line) ?? [];
  const bytes = parseBase64(base64);
  if (!keyName.test(name) || bytes === null || bytes.length < 5) {
    throw new FormatError('the note has a malformed signature line');
  }
  return { name, keyId: bytes.subarray(0, 4), signature: bytes.subarray(4) };
}

/**
 * The note of a text that ends in a newline. FormatError unless `parseNote` would read exactly this
 * note.
 */
export function formatNote(text: string, signatures: readonly NoteSignature[]): string {
  if (!text.endsWith('\n')) throw new FormatError('the text of a note ends in a newline');
  const lines = signatures.map(({ name, keyId, signature }) => {
    if (keyId.length !== 4) throw new FormatError('a key id has four bytes');
    const bytes = new Uint8Array(4 + signature.length);
    bytes.set(keyId);
    bytes.set(signature, 4);
    return `\u2014 ${name} ${formatBase64(bytes)}\n`;
  });
  const note = `${text}\n${lines.join('')}`;
  parseNote(note);
  return note;
}

/** `SHA-256(name ‖ 0x0A ‖ 0x01 ‖ public key)[:4]`: identifies an Ed25519 key of a name. */
export function noteKeyId(sha: Sha256, name: string, publicKey: Uint8Array): Uint8Array {
  if (!keyName.test(name)) throw new FormatError('a key name has neither spaces nor plus signs');
  if (publicKey.length !== publicKeyBytes) throw new FormatError('an Ed25519 key has 32 bytes');
  const prefix = encodeUtf8(`${name}\n\x01`, 'the key name');
  const bytes = new Uint8Array(prefix.length + publicKeyBytes);
  bytes.set(prefix);
  bytes.set(publicKey, prefix.length);
  return sha(bytes).slice(0, 4);
}

/** The vkey line `name+hex(key id)+base64(0x01 ‖ public key)`; FormatError as `noteKeyId`. */
export function formatVerifierKey(sha: Sha256, name: string, publicKey: Uint8Array): string {
  const keyId = noteKeyId(sha, name, publicKey);
  return `${name}+${formatHex(keyId)}+${formatBase64(Uint8Array.of(ed25519, ...publicKey))}`;
}

/** Reads a vkey line. FormatError for other texts or algorithms, or an id of another key. */
export function parseVerifierKey(sha: Sha256, vkey: string): VerifierKey {
  // Base64 may contain plus signs, so only the first two divide.
  const [, name = '', id = '', base64 = ''] = /^([^+]+)\+([0-9a-f]{8})\+(.+)$/.exec(vkey) ?? [];
  const bytes = parseBase64(base64);
  if (bytes === null || bytes.length === 0) throw new FormatError('this is not a verifier key');
  if (bytes[0] !== ed25519 || bytes.length !== 1 + publicKeyBytes) {
    throw new FormatError('only Ed25519 verifier keys are supported');
  }
  const publicKey = bytes.subarray(1);
  const keyId = noteKeyId(sha, name, publicKey);
  if (formatHex(keyId) !== id)
    throw new FormatError('the id of the verifier key does not match the key');
  return { name, keyId, publicKey };
}

/**
 * Whether keys that the caller trusts signed the note. Ignores signatures of other keys; at least
 * one given key must have signed, and no signature under a given key may be wrong. FormatError for
 * a malformed vkey, never for the note.
 */
export async function verifyNote(
  sha: Sha256,
  note: Note,
  vkeys: readonly string[],
): Promise<NoteVerdict> {
  const keys = [...new Set(vkeys)].map((vkey) => parseVerifierKey(sha, vkey));
  const message = encodeUtf8(note.text, 'the note');
  let verdict: NoteVerdict = 'unknown_key';
  for (const { name, keyId, signature } of note.signatures) {
    const named = keys.filter((key) => key.name === name && equalBytes(key.keyId, keyId));
    for (const { publicKey } of named) {
      if (!(await verifyEd25519(publicKey, signature, message))) return 'bad_signature';
      verdict = 'valid';
    }
  }
  return verdict;
}

async function verifyEd25519(
  publicKey: Uint8Array,
  signature: Uint8Array,
  message: Uint8Array,
): Promise<boolean> {
  // Copies, because WebCrypto's types exclude views of shared memory.
  const { subtle } = globalThis.crypto;
  const raw = new Uint8Array(publicKey);
  const key = await subtle.importKey('raw', raw, 'Ed25519', false, ['verify']);
  return subtle.verify('Ed25519', key, new Uint8Array(signature), new Uint8Array(message));
}
